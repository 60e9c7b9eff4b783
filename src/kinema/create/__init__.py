"""Characters from words: the built-in creatures."""
