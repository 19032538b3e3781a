"""Threads that do a job together, in machine code.

processors.py   how many this process may use
crew.py         the caller and its helpers, who look for a job for a while and then sleep
board.py        where they meet
jobs.py         a job as two addresses
kept.py         one that compiled code does again and again
each.py         several such, one thread each
stages.py       how they share a job, piece by piece
atomics.py      counters that they share
roomy.py        a deep call in a thread with a stack that holds it
borrowing.py    memory that somebody else holds
clock.py        what time it is
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NOBODY: NDArray[np.int64] = np.empty(0, np.int64)
"""A board that nobody looks at."""
