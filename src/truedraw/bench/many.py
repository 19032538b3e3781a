"""Many samples of one prompt: together, one after the other, and by other systems, all in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from truedraw.bench.bootstrap import median_interval
from truedraw.bench.lengths import short, whole
from truedraw.bench.pairs import PLAIN, forget, repeated
from truedraw.bench.peers.arms import Peer
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.working_time import working_seconds
from truedraw.stats.summary import Stats

ALONE, TOGETHER, SPECULATIVE = "one after the other", "together", "together, speculative"
ALONE_RUNS = 4  # of the runs one after the other in each repeat: each takes as long as any other


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run of one arm."""

    tokens: int
    seconds: float
    stats: Stats | None = None  # of truedraw's own
    peak_pages: int = 0

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Many:
    """What is measured: n samples of `tokens` by `params`, every one of exactly max_tokens tokens; of a seed every
    repeat has its own."""

    model: Model
    tokens: tuple[int, ...]
    params: SamplingParams
    speculation: Speculation
    peers: Mapping[str, Peer]

    def arms(self) -> dict[str, Callable[[int], Run]]:
        """By name; each takes the number of the repeat."""
        return {
            ALONE: self._alone,
            TOGETHER: lambda repeat: self._own(self.params.n, repeat, PLAIN),
            SPECULATIVE: lambda repeat: self._own(self.params.n, repeat, self.speculation),
            **{name: partial(self._peer, peer) for name, peer in self.peers.items()},
        }

    def warm_up(self) -> None:
        """Every arm once with few tokens, unmeasured."""
        for arm in replace(self, params=short(self.params)).arms().values():
            arm(0)

    def _alone(self, repeat: int) -> Run:
        runs = [self._own(1, repeat * ALONE_RUNS + i, PLAIN) for i in range(min(ALONE_RUNS, self.params.n))]
        return Run(sum(run.tokens for run in runs), sum(run.seconds for run in runs), runs[0].stats)

    def _own(self, n: int, repeat: int, speculation: Speculation) -> Run:
        forget(self.model)
        params = replace(repeated(whole(self.params), repeat), n=n)
        start, pages = working_seconds(), 0
        run = self.model.start(self.tokens, params, speculative=speculation)
        for _ in run:
            pages = max(pages, held_pages(self.model.engine))
        result = run.result()
        return Run(result.stats.tokens, working_seconds() - start, result.stats, pages)

    def _peer(self, peer: Peer, repeat: int) -> Run:
        params = self.params
        start = working_seconds()
        tokens = peer.sample(self.tokens, params.n, params.max_tokens, params.temperature)
        return Run(tokens, working_seconds() - start)


def held_pages(engine: Any) -> int:
    """Pages that texts hold, 0 for an engine without pages."""
    use = engine.cache_use() if hasattr(engine, "cache_use") else None
    return 0 if use is None else use.pages_held


def measured(many: Many, repeats: int) -> dict[str, list[Run]]:
    """Everyone once, then everyone again."""
    many.warm_up()
    runs: dict[str, list[Run]] = {name: [] for name in many.arms()}
    for repeat in range(repeats):
        for name, arm in many.arms().items():
            runs[name].append(arm(repeat))
    return runs


def report(runs: Mapping[str, Sequence[Run]], many: Many) -> dict[str, Any]:
    """Speeds with intervals, relative to one after the other and to every other arm; what truedraw itself costs."""
    own = runs[TOGETHER]
    return {
        "n": many.params.n,
        "prompt_tokens": len(many.tokens),
        "max_tokens": many.params.max_tokens,
        "tokens_per_second": {name: _median([run.speed for run in each]) for name, each in runs.items()},
        "gain_over": {name: _ratio(own, each) for name, each in runs.items() if name != TOGETHER},
        "speculative_gain": _ratio(runs[SPECULATIVE], own),
        "other_fraction": {name: _other(runs[name]) for name in (ALONE, TOGETHER, SPECULATIVE)},
        "pages": _pages(own, many),
    }


def _ratio(one: Sequence[Run], other: Sequence[Run]) -> dict[str, float | None]:
    return _median([a.speed / b.speed for a, b in zip(one, other, strict=True)])


def _median(values: Sequence[float]) -> dict[str, float | None]:
    return median_interval(values).to_dict()


def _other(runs: Sequence[Run]) -> float:
    """Everything but engine and drafter, of the wall time."""
    known = [run.stats for run in runs if run.stats is not None]
    return sum(each.other_seconds for each in known) / sum(each.seconds for each in known)


def _pages(runs: Sequence[Run], many: Many) -> dict[str, float]:
    """Pages held at most, and how many the prompt once and n times the new tokens need."""
    rows = getattr(many.model.engine, "page_rows", 0)
    if not rows:
        return {}
    prompt, n = len(many.tokens), many.params.n
    shared, whole = prompt // rows, -(-(prompt + many.params.max_tokens) // rows)
    held, needed = max(run.peak_pages for run in runs), shared + n * (whole - shared)
    return {"held": held, "needed": needed, "held_over_needed": held / needed}
