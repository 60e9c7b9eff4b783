"""`kinema COMMAND`: parse, call one public function, print one line.

Nothing heavy is imported here, so `kinema --help` answers at once.
"""

import io
import sys
import warnings
from pathlib import Path
from typing import Any

from kinema.errors import KinemaError, MachineError

try:
    from kinema.cli import stop
    from kinema.cli.parse import Kinema, parse
except KeyboardInterrupt:
    # The import takes long enough for a Ctrl-C to fall into it.
    print("kinema: interrupted", file=sys.stderr)
    raise SystemExit(130) from None

LONGEST_LINE = 600
TRY_LATER = 75
"""Exit code where the machine is to blame and not the input (EX_TEMPFAIL of sysexits.h)."""


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, and turn every failure into one line and an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file's name may be in another encoding than the terminal's.
        sys.stdout.reconfigure(errors="backslashreplace")
    if arguments == ["--version"]:
        from kinema import __version__

        print(f"kinema {__version__}")
        return
    try:
        options = parse(arguments or ["--help"])
        stop.listen()
        _show_warnings(options)
        options.run()
        sys.stdout.flush()
    except KinemaError as error:
        _fail(str(error), TRY_LATER if isinstance(error, MachineError) else 1, arguments)
    except KeyboardInterrupt as interrupt:
        word, code = stop.ending()
        _fail(f"{word}{interrupt.args[0] if interrupt.args else ''}", code, arguments)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told there, not even at exit.
        sys.stdout = None
        raise SystemExit(141) from None
    except MemoryError:
        _fail("out of memory", TRY_LATER, arguments)
    except OSError as error:
        from kinema.files import PASSING

        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", TRY_LATER if error.errno in PASSING else 1, arguments)
    except Exception as error:
        _fail(f"a bug, please report it (-v shows where): {type(error).__name__}: {error}", 70, arguments)


def _fail(message: str, code: int, arguments: list[str]) -> None:
    if {"-v", "--verbose"} & set(arguments):
        import traceback

        traceback.print_exc()
    line = " ".join(message.split())
    print(f"kinema: {line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + ' ...'}", file=sys.stderr)
    raise SystemExit(code)


def _show_warnings(options: Kinema) -> None:
    """Our own as one line; those of libraries only on request."""

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        ours = str(Path(__file__).parents[1]) in filename
        if not options.quiet and (ours or options.verbose):
            print(f"kinema: note: {' '.join(str(message).split())}", file=sys.stderr)

    warnings.showwarning = show
