"""Derivative datasets: whatever is new in their inputs goes through their queries, and comes out as their next block.

``plan`` says what is new, ``run`` has it computed and commits it. What an engine does in its process is ``job``; the
modules named after engines know how each of them is asked.
"""
