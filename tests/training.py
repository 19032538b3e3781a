"""What the tests of training have in common."""

import re
import subprocess
import sys
import time

from models.tiny_models import random_tensors


def is_progress(line):
    """Whether it is one that says how far training is."""
    return re.match(r"[\w ]+: \d+%, ", line) is not None


def is_quiet(found):
    """Whether all went well, and nothing but how far training is was said beside the answer."""
    return found.code == 0 and all(map(is_progress, found.err.splitlines()))


def error(found):
    """The one line that says what is wrong; how far training had come may stand before it."""
    assert (found.code, found.out) == (2, "")
    *told, line = found.err.splitlines()
    assert all(map(is_progress, told))
    return line


def kill_once(folder, pattern, words):
    """Run the command of these words until there is a file of this pattern in the folder."""
    run = subprocess.Popen(
        [sys.executable, "-m", "truedraw", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not list(folder.glob(pattern)) and run.poll() is None:
        time.sleep(0.05)
    run.kill()
    run.wait()


def as_written(head, best):
    """A head of these arrays as it is in its file: rounded once."""
    from truedraw.distill.export import _rounded

    return _rounded(head, best, lambda _, matrix: matrix)


def some_tensors(config):
    """Of a model whose laws are not all alike."""
    return {key: values * (0.3 if values.ndim == 2 else 1) for key, values in random_tensors(config).items()}
