"""What is timed: `python -m benchmarks [NAME …]`. Tests never measure time."""
