"""Questions about speed, one file each; ``python -m benchmarks`` asks them all."""
