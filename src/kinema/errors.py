"""The one exception a user is meant to see."""


class KinemaError(Exception):
    """A mistake in the input or the environment, told in one line that names the file and the value.

    The command line prints it without a traceback and exits with code 1; anything else is a bug.
    """
