"""A study with human raters: a static page of film pairs, and the statistics of its answers."""
