"""What those who run the server see: health, readiness, metrics, logs."""
