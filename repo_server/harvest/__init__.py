"""What catalogues and search engines elsewhere are told of public datasets, in the forms that they read."""
