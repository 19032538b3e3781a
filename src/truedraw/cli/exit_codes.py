"""What the command line exits with, beside 0 for done."""

import signal

FAILED = 1
"""A check did not pass."""

ERROR = 2
"""Nothing came of it."""

INTERRUPTED = 128 + signal.SIGINT
"""ctrl-C ended the command, as shells count it."""
