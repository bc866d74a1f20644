"""Telling others what happens at addresses that they gave: what they may hear, how it is signed and sent."""
