"""Yardsticks for the compiled games: the same rules written plainly, and the measurements against them."""
