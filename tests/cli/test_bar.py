"""The bar: there is one, whichever threads tell of their steps, and it ends."""

import sys
import time
from threading import Barrier, Thread

import pytest
from rich.console import Console

from truedraw.cli import bar
from truedraw.cli.bar import progress_bar


@pytest.fixture
def bars(monkeypatch):
    """Those that were made, each of which takes a while."""
    monkeypatch.setattr(Console, "is_terminal", property(lambda _: True))
    monkeypatch.setattr(bar, "has_bars", lambda _: True)
    made, usual = [], bar._bar

    def slow():
        time.sleep(0.05)
        made.append(usual())
        return made[-1]

    monkeypatch.setattr(bar, "_bar", slow)
    return made


def test_several_threads_have_one(bars):
    before, together = (sys.stdout, sys.stderr), Barrier(4)
    with progress_bar() as progress:

        def fetch():
            together.wait(10)
            for done in range(5):
                progress("weights", done, 4)

        threads = [Thread(target=fetch) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (made,) = bars
        assert [task.completed for task in made.tasks] == [4]
    assert made.finished
    assert (sys.stdout, sys.stderr) == before


def test_a_step_that_comes_late_starts_nothing(bars):
    before = sys.stdout
    with progress_bar() as progress:
        pass
    progress("weights", 1, 2)
    assert bars == []
    assert sys.stdout is before


def test_a_file_has_none_whatever_the_colours(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar() as progress:
        progress("weights", 1, 2)
    assert capsys.readouterr().err == ""
