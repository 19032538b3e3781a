"""The samples of a sweep to numbers, a set of them for each point of the grid."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from truedraw.stats.diversity import Mean, distinct, self_bleu, token_mean

ORDERS = (1, 2, 3)  # of distinct-n
Values = tuple[tuple[str, float], ...]
"""A point: names of sampling parameters and their values."""


@dataclass(frozen=True, slots=True)
class PointReport:
    """One point of the grid. Logarithms are natural; None where the samples do not suffice.

    distinct, self_bleu: of the samples of each prompt, averaged over the prompts (diversity.py). logprob: the model's
    own log probability a token, before the transforms. entropy: of the law that was sampled, nats a token, estimated
    as the mean of minus the log probability that each token had in it. stopped: share that ended by themselves. lossy:
    samples of a rule that does not keep the model's distribution.
    """

    values: Values
    samples: int
    failed: int
    lossy: int
    tokens: float | None  # a sample
    stopped: float | None
    distinct: dict[int, float | None]
    self_bleu: float | None
    logprob: Mean
    entropy: Mean
    example: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the example."""
        found = {**dict(self.values), **asdict(self)}
        return {name: value for name, value in found.items() if name not in ("values", "example")}


@dataclass(slots=True)
class _Gathered:
    """What is kept of a point's samples."""

    tokens: dict[int, list[array[int]]] = field(default_factory=lambda: defaultdict(list))  # by prompt
    logprobs: list[float] = field(default_factory=list)  # sums
    sampling_logprobs: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    failed: int = 0
    lossy: int = 0
    stopped: int = 0
    example: tuple[bool, int, int, str] | None = None  # whether it is blank, prompt, sample, text

    def add(self, record: Mapping[str, Any]) -> None:
        if "error" in record:
            self.failed += 1
            return
        self.tokens[record["prompt"]].append(array("l", record["token_ids"]))
        self.logprobs.append(sum(record["logprobs"]))
        self.sampling_logprobs.append(sum(record["sampling_logprobs"]))
        self.lengths.append(len(record["token_ids"]))
        self.lossy += not record.get("exact", True)
        self.stopped += record["finish_reason"] == "stop"
        here = (not record["text"].strip(), record["prompt"], record["sample"], record["text"])
        self.example = here if self.example is None else min(self.example, here)

    def report(self, values: Values) -> PointReport:
        by_prompt, count = list(self.tokens.values()), len(self.lengths)
        return PointReport(
            values=values,
            samples=count,
            failed=self.failed,
            lossy=self.lossy,
            tokens=fmean(self.lengths) if count else None,
            stopped=self.stopped / count if count else None,
            distinct={n: _mean([distinct(texts, n) for texts in by_prompt]) for n in ORDERS},
            self_bleu=_mean([self_bleu(texts) for texts in by_prompt]),
            logprob=token_mean(self.logprobs, self.lengths),
            entropy=token_mean([-total for total in self.sampling_logprobs], self.lengths),
            example="" if self.example is None else self.example[-1],
        )


def point_reports(records: Iterable[Mapping[str, Any]], axes: Sequence[str]) -> list[PointReport]:
    """The points in the order of their values; `axes` are the parameters that the sweep may have varied."""
    found: dict[Values, _Gathered] = defaultdict(_Gathered)
    for record in records:
        found[tuple((axis, record[axis]) for axis in axes if axis in record)].add(record)
    return [found[values].report(values) for values in sorted(found)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
