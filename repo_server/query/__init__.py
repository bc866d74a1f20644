"""Asking datasets: queries, their proofs, and looks at records; all of it computed in processes of their own."""
