"""How any job runs: settings, memory, workers, progress, resuming, and the stores between stages."""
