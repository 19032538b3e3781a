"""A sweep's samples: every prompt at every point, n times, all of them in one batch with shared prompts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import maxsize
from typing import Any

from truedraw.errors import BadFile, BadParameter, TruedrawError, error_of
from truedraw.generate.batch import Batch
from truedraw.generate.offline.batch import Emit
from truedraw.generate.offline.done import may_pass
from truedraw.generate.offline.grid import Draw, Point, draws, point_of
from truedraw.generate.prompt_ids import Prompt
from truedraw.generate.request import Request
from truedraw.generate.requests import generate_many
from truedraw.generate.result import Result
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import check_seed
from truedraw.sampling.values import shown

LOGS: tuple[set[type], float] = ({int, float}, 1e120)  # whose squares can still be added up
LISTS: dict[str, tuple[set[type], float]] = {"token_ids": ({int}, maxsize), "logprobs": LOGS, "sampling_logprobs": LOGS}
"""Of a sample, a value a token: what kinds it may have, and how large it is at most."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What to draw. `params`: sampling parameters of every point, by name."""

    prompts: Sequence[Prompt]
    points: Sequence[Point]
    n: int
    params: Mapping[str, Any]
    seed: int
    speculative: Any = None

    def __len__(self) -> int:
        return len(self.prompts) * len(self.points) * self.n

    def check(self) -> None:
        """Raises BadParameter for a point or a seed that cannot be, and for more samples than can be counted."""
        check_seed(self.seed)
        most = maxsize // max(1, len(self.prompts) * len(self.points))
        if self.n > most:
            raise BadParameter("n", f"got {shown(self.n)}; give at most {most:,} samples of each prompt at each point")
        for point in self.points:
            sampling_params(self._params(point))

    def draws(self) -> Iterator[Draw]:
        """In the order in which they are begun."""
        return draws(len(self.prompts), self.points, self.n)

    def request(self, draw: Draw) -> Request:
        """For one sample."""
        params = {**self._params(draw.point), "seed": draw.seed(self.seed)}
        return Request(self.prompts[draw.prompt], params, self.speculative, draw)

    def _params(self, point: Point) -> dict[str, Any]:
        return {**self.params, **point.params()}


def run_sweep(batch: Batch, sweep: Sweep, done: Container[Draw], emit: Emit) -> None:
    """Draw every sample that is not `done` yet and hand over its record when it ends; closes the batch.

    Raises BadInput where a sample could not be begun, whatever its prompt: none could.
    """
    requests = (sweep.request(draw) for draw in sweep.draws() if draw not in done)
    for request, outcome in generate_many(batch, requests, lambda _: True):
        emit(sample_record(request, outcome))


def sample_record(request: Request, outcome: Result | TruedrawError) -> dict[str, Any]:
    """prompt, sample, the point's values, seed, and then the sample or its error."""
    head = {**request.key.head(), "seed": request.params["seed"]}
    if not isinstance(outcome, Result):
        return {**head, "error": error_of(outcome)}
    (choice,) = outcome.choices
    return {
        **head,
        "text": choice.text,
        "finish_reason": choice.finish_reason,
        "exact": choice.exact,
        **outcome.drafting_dict(),
        "prompt_tokens": len(outcome.prompt_tokens),
        "token_ids": list(choice.tokens),
        "logprobs": list(choice.logprobs),
        "sampling_logprobs": list(choice.sampling_logprobs),
        **choice.top_dict(),
        "rounds": choice.stats.rounds,
    }


def drawn(records: Iterable[Mapping[str, Any]], path: Path | None, sweep: Sweep | None = None) -> dict[Draw, bool]:
    """The samples that are there already, and whether each has failed; those that may yet succeed are left out.

    Raises BadFile for a record that is no sample of a sweep, or of another one than `sweep`, and for one that is there
    twice.
    """
    found: dict[Draw, bool] = {}
    points, met = frozenset[Point]() if sweep is None else frozenset(sweep.points), dict[Point, Point]()
    for record in records:
        if may_pass(record):
            continue
        draw = draw_of(record, path)
        if draw in found:
            raise _misplaced(draw, path, "twice")
        draw = replace(draw, point=met.setdefault(draw.point, draw.point))  # one for all its samples
        if sweep is not None and not _is_of(draw, sweep, points):
            raise _misplaced(draw, path, "which is none of this sweep")
        found[draw] = "error" in record
    return found


def draw_of(record: Mapping[str, Any], path: Path | None) -> Draw:
    """Which sample a record is; raises BadFile for what is none, or only a part of one."""
    prompt, sample, values = record.get("prompt"), record.get("sample"), point_of(record).params().values()
    are_numbers = bool(values) and all(type(value) in (int, float) for value in values)
    if type(prompt) is not int or type(sample) is not int or not are_numbers or not _whole(record):
        raise BadFile(f"{path} holds a line that is no sample of a sweep; give another file for the output")
    return Draw(prompt, point_of(record), sample)


def _misplaced(draw: Draw, path: Path | None, what: str) -> BadFile:
    where = f"sample {draw.sample} of prompt {draw.prompt} at {draw.point.name}"
    return BadFile(f"{path} holds {where} {what}; take the line out, or give another file for the output")


def _is_of(draw: Draw, sweep: Sweep, at: Container[Point]) -> bool:
    return 0 <= draw.prompt < len(sweep.prompts) and 0 <= draw.sample < sweep.n and draw.point in at


def _whole(record: Mapping[str, Any]) -> bool:
    """Whether it has what reports are made of."""
    if "error" in record:
        return isinstance(record["error"], Mapping) and isinstance(record["error"].get("message"), str)
    is_text = isinstance(record.get("text"), str) and isinstance(record.get("finish_reason"), str)
    return is_text and all(_are(record.get(name), *LISTS[name]) for name in LISTS)


def _are(values: Any, kinds: set[type], most: float) -> bool:
    """Whether it is a list of such numbers."""
    return isinstance(values, list) and {*map(type, values)} <= kinds and all(abs(each) <= most for each in values)
