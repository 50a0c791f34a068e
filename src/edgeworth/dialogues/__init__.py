"""Negotiations in words: released human dialogues, their acts, moves as text, and the text that language models read and write."""
