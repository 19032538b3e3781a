"""Which way of drafting suits a user's prompts: candidates beside plain sampling, prompt by prompt, in a given time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median
from time import perf_counter
from typing import Any

from truedraw.bench.bootstrap import Interval, median_interval
from truedraw.bench.lengths import short
from truedraw.bench.pairs import PLAIN, Pair, Task, apart, by_turns, pair_of, repeated
from truedraw.bench.report import section, speedup
from truedraw.errors import TruedrawError
from truedraw.generate.model import Model
from truedraw.generate.result import Result
from truedraw.generate.speculation import Speculation, speculation
from truedraw.sampling.params import SamplingParams

LOOKS = tuple(4 << look for look in range(16))
"""Turns after which losers are given up: fewer say next to nothing of the spread, and a look at each would be luck."""
CLEARLY = 0.97  # of the best's speed, for the upper end of the interval, where a candidate is given up


@dataclass(slots=True, eq=False)
class Candidate:
    """A speculative config, its runs, and a model that has learnt from these alone."""

    name: str
    config: Mapping[str, Any]
    speculation: Speculation
    model: Model
    pairs: list[Pair] = field(default_factory=list)
    given_up: str | None = None  # why, in words
    failed: bool = False  # it could not run, or not to the end

    @property
    def is_default(self) -> bool:
        """Whether it is what runs where nothing is asked for."""
        return self.speculation == speculation(None)

    @property
    def median(self) -> float:
        """Its speed, of plain sampling's, by prompt."""
        return median([*self.by_prompt().values()])

    @property
    def speed(self) -> Interval:
        """The same with its interval, which takes a while."""
        return median_interval([*self.by_prompt().values()])

    def by_prompt(self) -> dict[int, float]:
        """Prompt -> speed."""
        tasks = dict.fromkeys(pair.task for pair in self.pairs)
        return {task: speedup([pair for pair in self.pairs if pair.task == task]) for task in tasks}

    def ratios(self, other: Candidate) -> list[float]:
        """Its speed over the other's, on the prompts that both have seen."""
        mine, others = self.by_prompt(), other.by_prompt()
        return [mine[task] / others[task] for task in mine if task in others]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = section(self.pairs) if self.pairs else {}
        return {"name": self.name, "config": dict(self.config), "given_up": self.given_up, **found}


def candidates(model: Model, configs: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    """Each config once, with a name of its own; raises BadParameter and UnknownName."""
    found: dict[str, Candidate] = {}
    for config in configs:
        spec = speculation(config)
        spec.check_exact("it is not weighed against exact ones")
        if any(spec == each.speculation for each in found.values()):
            continue
        name = name_of(spec)
        while name in found:
            name += "'"
        found[name] = Candidate(name, config, spec, apart(model))
    return list(found.values())


def name_of(spec: Speculation) -> str:
    """A config in short."""
    model = f" with {spec.model}" if spec.model else ""
    return f"{spec.method}{model}" if spec.adaptive else f"{spec.method}{model} (always {spec.num_speculative_tokens})"


class Tuning:
    """Plain sampling and all candidates on one prompt after the other, every time in another order.

    Of a seed in `params` every repetition of the prompts takes the next; without one every run draws anew. The first
    prompt is measured whole even where `seconds` are over by then.
    """

    def __init__(
        self, params: SamplingParams, tasks: Sequence[Task], candidates: Sequence[Candidate], seconds: float,
        clock: Callable[[], float] = perf_counter,
    ) -> None:  # fmt: skip
        self.params, self.candidates, self.prompts = params, candidates, 0
        self._tasks, self._seconds, self._clock = by_turns(tasks), seconds, clock
        self._plain = apart(candidates[0].model)
        self._began = clock()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self._clock() - self._began

    @property
    def live(self) -> list[Candidate]:
        """Those that are still measured."""
        return [each for each in self.candidates if each.given_up is None]

    def steps(self) -> Iterator[None]:
        """Run by run, until the time is over or nobody is left."""
        yield from self._warmed_up()
        for turn in count():
            if not self.live or (turn and self.elapsed > self._seconds):
                return
            repeat, index = divmod(turn, len(self._tasks))
            yield from self._turn(turn, index, repeated(self.params, repeat))
            self.prompts = max(self.prompts, index + 1)
            if turn + 1 in LOOKS:
                give_up_losers(self.live, is_first=turn + 1 == LOOKS[0])

    def _warmed_up(self) -> Iterator[None]:
        """Everybody once, unmeasured."""
        self._plain.generate(self._tasks[0].tokens, short(self.params), speculative=PLAIN)
        for each in self.live:
            self._run(each, self._tasks[0], short(self.params))
            yield

    def _turn(self, turn: int, index: int, params: SamplingParams) -> Iterator[None]:
        """One prompt; a pair for each that has run beside plain sampling before the time was over."""
        task, found = self._tasks[index], list[tuple[Candidate, Result]]()
        order: list[Candidate | None] = [None, *self.live]
        start = turn % len(order)
        plain = None
        for each in (*order[start:], *order[:start]):
            if turn and self.elapsed > self._seconds:
                break
            if each is None:
                plain = self._plain.generate(task.tokens, params, speculative=PLAIN)
            elif (done := self._run(each, task, params)) is not None:
                found.append((each, done))
            yield
        if plain is not None:
            for candidate, result in found:
                candidate.pairs.append(pair_of(index, task, plain, result, is_seeded=params.seed is not None))

    def _run(self, each: Candidate, task: Task, params: SamplingParams) -> Result | None:
        """None where it fails; it is given up then."""
        try:
            result = each.model.generate(task.tokens, params, speculative=each.speculation)
        except TruedrawError as error:
            each.given_up, each.failed = f"it cannot run here: {error}", True
            return None
        if result.fallback is not None:
            each.given_up, each.failed = f"its drafter failed: {result.fallback}", True
            return None
        return result


def give_up_losers(live: Sequence[Candidate], is_first: bool = False) -> None:
    """Those that are clearly slower than plain sampling, or than the best.

    At the first look the default stays: it learns on its way, the best of many is partly lucky, and without it every
    doubt would be settled for plain sampling.
    """
    measured = [each for each in live if each.pairs]
    best = max(measured, key=lambda each: each.median, default=None)
    for each in measured:
        if is_first and each.is_default:
            continue
        for name, speed in rivals(each, best):
            if each.given_up is None and speed.high is not None and speed.high < CLEARLY:
                turns = len(each.pairs)
                each.given_up = f"given up, at {speed.median:.2f} of the speed of {name} after {turns} pairs"


def rivals(each: Candidate, best: Candidate | None) -> Iterator[tuple[str, Interval]]:
    """Against whom it is measured, and how it does."""
    yield "plain sampling", each.speed
    if best is not None and best is not each and (ratios := each.ratios(best)):
        yield best.name, median_interval(ratios)
