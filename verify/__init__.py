"""Checking: is a dataset what its chain and its names say?"""
