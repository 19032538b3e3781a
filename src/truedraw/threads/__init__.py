"""Threads that do a job together, in machine code.

processors.py   how many this process may use
crew.py         the caller and its helpers, who look for a job for a while and then sleep
board.py        where they meet
stages.py       how they share a job, piece by piece
atomics.py      counters that they share
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NOBODY: NDArray[np.int64] = np.empty(0, np.int64)
"""A board that nobody looks at."""
