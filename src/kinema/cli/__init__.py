"""The command line: commands, parsing, progress, doctor and demo."""
