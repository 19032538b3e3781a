"""The bar of a long run: its speed, its time left, and what it counts on from."""

import re
from types import SimpleNamespace

import pytest

from truedraw.cli.progress import Pace, Tally, bar, clock_time


class Run:
    """`total` samples of `length` tokens, `running` of them side by side, a token of each a second."""

    def __init__(self, total=12, length=10, running=4, before=0):
        self.now, self.batch = 1000.0, SimpleNamespace(num_tokens=0)
        self.tally = Tally("sample", before=before, clock=lambda: self.now)
        self.pace = Pace(self.tally, self.batch, total, length, running)
        self.length, self.left, self.texts = length, total - before, []
        self.running = running

    def tick(self, add=None):
        """One second."""
        while self.left and len(self.texts) < self.running:
            self.texts.append(0)
            self.left -= 1
        self.now += 1
        self.batch.num_tokens += len(self.texts)
        self.texts = [written + 1 for written in self.texts]
        for _ in range(self.texts.count(self.length)):
            self.texts.remove(self.length)
            (add or self.tally.add)({"token_ids": [0] * self.length})


@pytest.mark.parametrize(("before", "seconds"), [(0, 30), (4, 20)])
def test_time_left_is_right_within_every_wave(before, seconds):
    """All samples of a wave end at once, so their ends alone say nothing for a third of the run."""
    run = Run(before=before)
    assert run.pace.seconds_left is None
    for second in range(1, seconds):
        run.tick()
        assert run.pace.seconds_left == pytest.approx(seconds - second)
    run.tick()
    assert run.pace.seconds_left == 0


def test_texts_that_end_early_are_expected_of_the_others_too():
    run = Run(total=100, length=20, running=1)
    run.pace = Pace(run.tally, run.batch, 100, 500, 1)
    run.tick()
    assert run.pace.seconds_left == pytest.approx(500 * 100 - 1)  # as far as is known
    for _ in range(199):
        run.tick()
    assert run.pace.seconds_left == pytest.approx(20 * 90)


def test_a_line_that_may_be_longer_than_the_others():
    run = Run(total=3, length=50, running=1)
    run.pace = Pace(run.tally, run.batch, 3, 10, 1)
    for _ in range(75):
        run.tick()
    assert run.pace.seconds_left == pytest.approx(75)


def test_what_fails_is_neither_done_nor_to_do():
    run = Run(total=12, running=1)
    for _ in range(2):
        run.tally.add({"error": {"message": "no room"}})
        run.left -= 1
    for _ in range(30):
        run.tick()
    assert (run.tally.failed, run.tally.done) == (2, 5)
    assert run.pace.seconds_left == pytest.approx(70)


def test_tokens_of_what_failed_do_not_count_as_more_than_is_running():
    run = Run(total=10, running=2)
    run.batch.num_tokens = 900
    for _ in range(10):
        run.tick()
    assert run.pace.seconds_left >= 10  # two done, at most two begun


def test_nobody_knows_the_end_of_a_pipe():
    run = Run()
    run.pace = Pace(run.tally, run.batch, None, 10, 4)
    run.tick()
    assert run.pace.seconds_left is None
    assert run.pace.speed == 4.0


def test_a_time():
    assert [clock_time(seconds) for seconds in (None, 0, 0.2, 89.5, 3600)] == [
        "-:--:--", "0:00:00", "0:00:01", "0:01:30", "1:00:00",
    ]  # fmt: skip


def test_the_bar_shows_all_of_it(monkeypatch, capsys):
    monkeypatch.setattr("truedraw.cli.progress.has_bars", lambda _: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    run = Run(total=24, before=8)
    with bar(run.pace, "never") as add:
        for _ in range(15):
            run.tick(add)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    first, last = (re.findall(r"\d+/24[^\r\n]*", drawn)[i].split() for i in (0, -1))
    assert first == ["8/24", "–", "tokens/s", "-:--:--"]
    assert last == ["12/24", "4.0", "tokens/s", "0:00:25"]


def test_a_bar_that_runs_out_of_knowledge_does_not_fail(monkeypatch, capsys):
    monkeypatch.setattr("truedraw.cli.progress.has_bars", lambda _: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    run = Run(total=2)
    with bar(run.pace) as add:
        for _ in range(3):  # more than were announced
            add({"token_ids": [0] * 10})
            run.now += 1
    drawn = capsys.readouterr().err
    assert "3/2" in drawn
    assert "0:00:00" in drawn
    assert "day" not in drawn
