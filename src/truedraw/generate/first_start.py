"""The first start on a machine compiles for a minute or more: two processes share that, where there are two processors.

Machine code is kept in files, so that what one process has compiled the other one loads.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from truedraw.compiled import is_kept
from truedraw.engine.processors import processors
from truedraw.generate.rows import warm_up

COMMAND = f"from {warm_up.__module__} import warm_up; warm_up()"
PATIENCE = 300.0  # seconds behind which this process compiles for itself


@contextmanager
def kernels() -> Iterator[bool]:
    """What every text needs is loaded, or compiled, when the block is over; mostly before it begins.

    At a first start, of which the block is told, a second process compiles it beside: the block is to load an engine
    with kernels of its own, and whatever else has some.
    """
    helper = _helper()
    if helper is None:
        warm_up()  # first, so that the compiler behind the kernels is let go of before the weights are in memory
        yield False
        return
    try:
        yield True
        with suppress(subprocess.TimeoutExpired):
            helper.wait(PATIENCE)
    finally:
        helper.kill()
        helper.wait()
    warm_up()  # loads what it has left, and compiles the rest


def _helper() -> subprocess.Popen[bytes] | None:
    """None where everything is there, or nobody could help."""
    from truedraw.verify.fused.traverse import traverse

    if processors() < 2 or not sys.executable or is_kept(traverse) is not False:
        return None
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen([sys.executable, "-c", COMMAND], stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError:
        return None
