"""The jobs: one module per command."""
