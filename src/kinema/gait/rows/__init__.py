"""The rows of the table of motions: who does what, how, and what it is called."""
