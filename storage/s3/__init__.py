"""Stores in a bucket of S3 or of anything that speaks its protocol; needs the extra ``s3``."""
