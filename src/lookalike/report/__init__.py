"""What people look at: charts of plans, and reports of finished runs."""
