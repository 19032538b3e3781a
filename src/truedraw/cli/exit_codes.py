"""What the command line exits with, beside 0 for done, 1 for a failed check and 2 for an error."""

import signal

ERROR = 2
"""Nothing came of it."""

INTERRUPTED = 128 + signal.SIGINT
"""ctrl-C ended the command, as shells count it."""
