"""A first policy for a table nobody has described: guesses with reasons, questions marked."""
