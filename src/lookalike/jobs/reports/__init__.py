"""The facts that reports of finished runs show, and the pages written from them."""
