"""What a command says: a line for people, or the same as JSON."""

import json
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Output:
    """How much is said on standard output and standard error."""

    quiet: bool = False
    verbose: bool = False
    json: bool = False

    @property
    def silent(self) -> bool:
        """No progress on standard error: nobody reads it, or a program reads our JSON."""
        return self.quiet or self.json

    def say(self, text: str, /, **values: Any) -> None:
        """Print the result."""
        if self.json:
            print(json.dumps(values, default=str))
        elif not self.quiet:
            print(text)
        sys.stdout.flush()

    def hint(self, text: str) -> None:
        """Print a remark on standard error."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)
