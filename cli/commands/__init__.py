"""One module per command; ``cli/main.py`` lists them."""
