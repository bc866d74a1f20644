"""One module per question about speed; ``python -m benchmarks`` asks them all."""
