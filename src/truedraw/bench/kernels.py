"""Time of the fused kernels against numpy step by step and torch, in one run, call by call in turn.

Kernels and torch get as many threads as generation has; the time of both on one is told beside that.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from truedraw.bench.bootstrap import median_interval
from truedraw.bench.kernel_arms import ALONE, KERNEL, PASS, TORCH, TORCH_ALONE, Arm, draw_arms, residual_arms
from truedraw.bench.kernel_peers import numpy_draw, torch_version
from truedraw.bench.kernel_rows import Rows, made_up_rows
from truedraw.bench.kernel_works import RESIDUAL, WORKS
from truedraw.threads.processors import processors

if TYPE_CHECKING:
    from truedraw.threads.crew import Crew

VOCAB_SIZES = (49152, 151936)
ROW_COUNTS = (1, 8, 64)
REPEATS = 15
WARM_UP = 2  # calls of everyone that do not count
COLD_BYTES = 64 << 20  # more than the caches of most processors
MICROSECONDS = 1e6
TRIMMED_FROM, MOST_MAPPED = -1, -4  # of glibc's mallopt: M_TRIM_THRESHOLD, M_MMAP_MAX
LARGEST_INT = (1 << 31) - 1
WAIT, LONGEST_WAIT = 1e-4, 0.1  # seconds for a helper, which looks for a short while only, and may not come
NOTHING: Mapping[str, Callable[[], None]] = MappingProxyType({})
STEP_BY_STEP_GOAL = 5.0  # times numpy's speed
PASS_GOAL = 1.5  # times of one pass over the row, for temperature alone


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    vocab_sizes: Sequence[int] = VOCAB_SIZES
    row_counts: Sequence[int] = ROW_COUNTS
    repeats: int = REPEATS
    cold_bytes: int = COLD_BYTES


@dataclass(frozen=True, slots=True)
class Case:
    """The seconds of everyone's calls on one kind of work."""

    work: str
    vocab_size: int
    rows: int
    seconds: Mapping[str, Sequence[float]]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: medians with intervals; ratios are of neighbouring calls."""
        ratio = {name: self.ratio(name, KERNEL) for name in self.seconds if name not in (KERNEL, PASS)}
        return {
            "work": self.work,
            "vocab_size": self.vocab_size,
            "rows": self.rows,
            "microseconds_per_row": {name: self.median(name) for name in self.seconds},
            "speedup_over": ratio,
            "passes": self.ratio(KERNEL, PASS),
            "passes_on_one_thread": self.ratio(ALONE if ALONE in self.seconds else KERNEL, PASS),
        }

    def median(self, name: str) -> dict[str, float | None]:
        """Microseconds a row."""
        return median_interval([each * MICROSECONDS / self.rows for each in self.seconds[name]]).to_dict()

    def ratio(self, name: str, other: str) -> dict[str, float | None]:
        """Of one's time to another's."""
        pairs = zip(self.seconds[name], self.seconds[other], strict=True)
        return median_interval([one / two for one, two in pairs]).to_dict()


def cases(plan: Plan) -> Iterator[Case]:
    """One after the other, as they are measured."""
    from truedraw.threads.crew import crew_of

    crew = crew_of(processors())
    keep_memory()
    with torch_threads(crew.num_threads) as before:
        for vocab_size in plan.vocab_sizes:
            for count in plan.row_counts:
                rows = made_up_rows(count, vocab_size, plan.cold_bytes)
                ahead = dict(before) | {KERNEL: partial(gather, crew), ALONE: behind_numpy(rows)}
                for work in WORKS:
                    seconds = measured(draw_arms(work, rows, crew.board), plan.repeats, ahead)
                    yield Case(work.name, vocab_size, count, seconds)
                yield Case(RESIDUAL, vocab_size, count, measured(residual_arms(rows), plan.repeats, before))


def keep_memory() -> None:
    """Glibc keeps what is freed from now on, however large: else numpy waits, behind some steps and not behind others,
    for fresh pages."""
    change = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if change is not None:
        change(MOST_MAPPED, 0)
        change(TRIMMED_FROM, LARGEST_INT)


def gather(crew: Crew) -> None:
    """Helpers look for what comes, as they do behind a pass of the model."""
    until = perf_counter() + LONGEST_WAIT
    crew.wake()
    while not crew.is_awake() and perf_counter() < until:
        sleep(WAIT)
        crew.wake()


def behind_numpy(rows: Rows) -> Callable[[], None]:
    """What stands before the kernels with helpers stands before those without: right behind the former, with all their
    code at hand, the very same call takes up to a third less."""
    spare = rows.at(0).copy()

    def called() -> None:
        numpy_draw(spare, WORKS[0], rows.uniforms, None)
        spare.max(axis=1)

    return called


def measured(
    arms: Mapping[str, Arm], repeats: int, before: Mapping[str, Callable[[], None]] = NOTHING
) -> dict[str, list[float]]:
    """Seconds of each call: everyone once, then everyone again; no two calls in a row get the same rows.

    before: what is done first, and not timed.
    """
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    call = 0
    for repeat in range(-WARM_UP, repeats):
        for name, arm in arms.items():
            call += 1
            before.get(name, nothing)()
            start = perf_counter()
            arm(call)
            if repeat >= 0:
                seconds[name].append(perf_counter() - start)
    return seconds


def nothing() -> None:
    """Of an arm that is ready at any time."""


@contextmanager
def torch_threads(number: int) -> Iterator[Mapping[str, Callable[[], None]]]:
    """What is done before torch's arms, so that one has so many and one has one. Where others have the processors, too,
    threads that wait for one another take up to a hundred times as long."""
    if torch_version() is None:
        yield NOTHING
        return
    import torch

    before = torch.get_num_threads()
    try:
        yield {TORCH: partial(torch.set_num_threads, number), TORCH_ALONE: partial(torch.set_num_threads, 1)}
    finally:
        torch.set_num_threads(before)


def kernel_report(done: Sequence[Case], plan: Plan) -> dict[str, Any]:
    """All cases, and how far the goals are met."""
    found = [case.to_dict() for case in done]
    plain, alone = (
        [case[name]["median"] for case in found if case["work"] == WORKS[0].name]
        for name in ("passes", "passes_on_one_thread")
    )
    gains = [case["speedup_over"]["numpy"]["median"] for case in found]
    return {
        "cases": found,
        "goals": {
            "speedup_over_numpy": {"goal": STEP_BY_STEP_GOAL, "least": min(gains), "most": max(gains)},
            "passes_of_temperature_alone": {"goal": PASS_GOAL, "least": min(plain), "most": max(plain)},
            "passes_of_temperature_alone_on_one_thread": {"goal": PASS_GOAL, "least": min(alone), "most": max(alone)},
        },
        "pass": "numpy's max over the row, on one thread; everyone's rows come from memory, not from a cache",
        "threads": processors(),
        "torch": torch_version() or "not installed, so not measured",
        "repeats": plan.repeats,
    }
