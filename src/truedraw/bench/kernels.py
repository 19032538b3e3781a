"""Time of the fused kernels against numpy step by step and torch, in one run, call by call in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from truedraw.bench.bootstrap import median_interval
from truedraw.bench.kernel_arms import Arm, draw_arms, residual_arms
from truedraw.bench.kernel_peers import torch_version
from truedraw.bench.kernel_rows import made_up_rows
from truedraw.bench.kernel_works import RESIDUAL, WORKS

VOCAB_SIZES = (49152, 151936)
ROW_COUNTS = (1, 8, 64)
REPEATS = 15
WARM_UP = 2  # calls of everyone that do not count
COLD_BYTES = 64 << 20  # more than the caches of most processors
MICROSECONDS = 1e6
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
        ratio = {name: self.ratio(name, "kernel") for name in self.seconds if name not in ("kernel", "pass")}
        return {
            "work": self.work,
            "vocab_size": self.vocab_size,
            "rows": self.rows,
            "microseconds_per_row": {name: self.median(name) for name in self.seconds},
            "speedup_over": ratio,
            "passes": self.ratio("kernel", "pass"),
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
    for vocab_size in plan.vocab_sizes:
        with one_thread():
            for count in plan.row_counts:
                rows = made_up_rows(count, vocab_size, plan.cold_bytes)
                for work in WORKS:
                    arms = draw_arms(work, rows)
                    yield Case(work.name, vocab_size, count, measured(arms, plan.repeats))
                yield Case(RESIDUAL, vocab_size, count, measured(residual_arms(rows), plan.repeats))


def measured(arms: Mapping[str, Arm], repeats: int) -> dict[str, list[float]]:
    """Seconds of each call: everyone once, then everyone again; no two calls in a row get the same rows."""
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    call = 0
    for repeat in range(-WARM_UP, repeats):
        for name, arm in arms.items():
            call += 1
            start = perf_counter()
            arm(call)
            if repeat >= 0:
                seconds[name].append(perf_counter() - start)
    return seconds


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch, if installed, gets as many threads as the kernels for a while: one."""
    if torch_version() is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def kernel_report(done: Sequence[Case], plan: Plan) -> dict[str, Any]:
    """All cases, and how far the goals are met."""
    found = [case.to_dict() for case in done]
    plain = [case["passes"]["median"] for case in found if case["work"] == WORKS[0].name]
    gains = [case["speedup_over"]["numpy"]["median"] for case in found]
    return {
        "cases": found,
        "goals": {
            "speedup_over_numpy": {"goal": STEP_BY_STEP_GOAL, "least": min(gains), "most": max(gains)},
            "passes_of_temperature_alone": {"goal": PASS_GOAL, "least": min(plain), "most": max(plain)},
        },
        "pass": "numpy's max over the row, on one thread; everyone's rows come from memory, not from a cache",
        "torch": torch_version() or "not installed, so not measured",
        "repeats": plan.repeats,
    }
