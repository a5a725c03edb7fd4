"""Charts of plans and reports of finished runs. Draws results; does not know how they were found."""
