"""The first start on a machine compiles for about a minute: two processes share that, where there are two processors.

Machine code is kept in files, so that what one process has compiled the other one loads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from truedraw.compiled import is_kept
from truedraw.generate.means import warm_up
from truedraw.sampling.working_time import COMPILER
from truedraw.threads.processors import processors

COMMAND = """
import json, os, sys, threading
sys.path[:] = json.loads(sys.argv[1])
threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
from truedraw.generate.means import warm_up
warm_up()
"""
"""Its input ends with the process that asked for it, whatever ends that one: then nobody waits for it."""
PATIENCE = 300.0  # seconds behind which this process compiles for itself
HELPS = "TRUEDRAW_COMPILES"  # set for a process that helps, which needs no help


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
    COMPILER.watch()
    COMPILER.announce()
    with _ending(helper):
        yield True
    warm_up()  # loads what the helper has left, and compiles the rest


@contextmanager
def _ending(helper: subprocess.Popen[bytes]) -> Iterator[None]:
    """Behind the block it is waited for; behind an error it is not."""
    try:
        yield
        with suppress(subprocess.TimeoutExpired):
            helper.wait(PATIENCE)
    finally:
        helper.kill()
        helper.communicate()


def _helper() -> subprocess.Popen[bytes] | None:
    """None where everything is there, or nobody could help."""
    from truedraw.verify.fused.traverse import traverse

    if processors() < 2 or not _is_python() or is_kept(traverse) is not False:
        return None
    quiet = subprocess.DEVNULL
    command = [*own_python(), "-c", COMMAND, json.dumps(own_paths())]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env={**os.environ, HELPS: "1"}
        )
    except OSError:
        return None


def own_python() -> list[str]:
    """A command that runs Python as it runs here, where that matters to what functions are compiled to."""
    return [sys.executable, "-P", *["-E"] * sys.flags.ignore_environment, *["-O"] * sys.flags.optimize]


def own_paths() -> list[str]:
    """Where this process finds modules, for a process of ours to find the same; Python passes over what is no text."""
    return [each for each in sys.path if isinstance(each, str)]


def _is_python() -> bool:
    """Whether this program is an interpreter that would run a command, and not some program that has one inside."""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and HELPS not in os.environ
