"""What the cache of logits saves on repetitive work: short questions asked again and again, at several temperatures.

The same requests with the same seeds are run without the cache and with it, one right after the other. Passes and rows
are counted at the engine, so that they mean the same in both arms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from truedraw.bench.bootstrap import median_interval
from truedraw.bench.counted import counted
from truedraw.bench.pairs import PLAIN, tasks
from truedraw.bench.prompts import Prompt
from truedraw.engine.logits_cache import LogitsCacheUse
from truedraw.generate.derived_seeds import seed_after
from truedraw.generate.model import Model
from truedraw.generate.planning import LOGITS_CACHE_BYTES
from truedraw.generate.speculation import Speculation
from truedraw.sampling.working_time import working_seconds

QUESTIONS = (
    "Is this review positive or negative? Answer with one word. The soup was cold and the waiter forgot us twice.",
    "Is this review positive or negative? Answer with one word. We laughed all evening and want to come again.",
    "Yes or no: is 91 a prime number?",
    "What is the capital of Portugal? Answer with the name only.",
    "In which language is this sentence? Wo ist der Bahnhof? Answer with one word.",
    "Rate from 1 to 5 how formal this is, and give only the number: hey, are you coming tonight or what",
    "Translate into French: good morning.",
    "Give one short title for an article about bees in the city.",
)
MEBIBYTE = 1 << 20
GOAL = (0.2, 0.4)  # share of passes saved that is published for work of this kind


@dataclass(frozen=True, slots=True)
class Repetition:
    """The work: every question at every temperature, and all of that `rounds` times with fresh seeds."""

    questions: Sequence[str] = QUESTIONS
    temperatures: Sequence[float] = (0.3, 0.7, 1.0)
    n: int = 16
    rounds: int = 4
    max_tokens: int = 24
    max_running: int = 64
    cache_bytes: int = LOGITS_CACHE_BYTES
    seed: int = 0

    def requests(self, repeat: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(which question, sampling by name) of each request; every request of every repeat has its own seed."""
        each = list(product(range(self.rounds), range(len(self.questions)), self.temperatures))
        for number, (_, question, temperature) in enumerate(each, start=repeat * len(each)):
            seed = seed_after(self.seed, number)
            yield question, {"temperature": temperature, "n": self.n, "max_tokens": self.max_tokens, "seed": seed}


@dataclass(frozen=True, slots=True)
class ArmRun:
    """All requests once."""

    texts: tuple[tuple[int, ...], ...]  # token ids by request and sample
    passes: int
    rows: int  # of text and drafts that these passes computed
    seconds: float
    cache: LogitsCacheUse

    def to_dict(self) -> dict[str, Any]:
        """For JSON: counts and times."""
        tokens = sum(map(len, self.texts))
        return {"tokens": tokens, "passes": self.passes, "rows": self.rows, "seconds": self.seconds}


Pair = tuple[ArmRun, ArmRun]  # without the cache, with it


def reuse(
    model: Model, plan: Repetition | None = None, repeats: int = 1, speculative: Speculation = PLAIN,
    after_each: Callable[[], None] = lambda: None,
) -> dict[str, Any]:  # fmt: skip
    """Run both arms `repeats` times, after a short run that does not count, and report on them.

    `after_each` is called after every run of an arm that counts: 2 * repeats times.
    """
    what = plan or Repetition()
    _run(model, replace(what, rounds=1, max_tokens=2), what.cache_bytes, repeats, speculative)
    pairs: list[Pair] = []
    for repeat in range(repeats):
        runs = {}
        for cached in (False, True) if repeat % 2 == 0 else (True, False):
            runs[cached] = _run(model, what, what.cache_bytes if cached else 0, repeat, speculative)
            after_each()
        pairs.append((runs[False], runs[True]))
    return report(pairs, what)


def report(pairs: Sequence[Pair], plan: Repetition) -> dict[str, Any]:
    """passes_saved and rows_saved are shares of those without the cache; speedup is of the wall time."""
    texts = [each for without, cached in pairs for each in zip(without.texts, cached.texts, strict=True)]
    return {
        "work": asdict(plan),
        "without": [without.to_dict() for without, _ in pairs],
        "with": [{**cached.to_dict(), "cache": asdict(cached.cache)} for _, cached in pairs],
        "passes_saved": _interval(1 - cached.passes / without.passes for without, cached in pairs),
        "rows_saved": _interval(1 - cached.rows / without.rows for without, cached in pairs),
        "hit_rate": _interval(_share(cached.cache) for _, cached in pairs),
        "speedup": _interval(without.seconds / cached.seconds for without, cached in pairs),
        "identical_texts": {"count": sum(one == other for one, other in texts), "of": len(texts)},
        "goal": {"passes_saved": list(GOAL)},
    }


def lines(found: Mapping[str, Any]) -> list[str]:
    """The report for people."""
    work, same, goal = found["work"], found["identical_texts"], found["goal"]["passes_saved"]
    warm = ", ".join(f"{temperature:g}" for temperature in work["temperatures"])
    return [
        f"{len(work['questions'])} questions at T = {warm}, {work['n']} samples each, {work['rounds']} times over",
        *(f"{name:8}{_arm(runs)}" for name in ("without", "with") for runs in found[name]),
        *(_held(runs["cache"], work["cache_bytes"]) for runs in found["with"]),
        f"passes saved: {_spread(found['passes_saved'], '.1%')}; the goal is {goal[0]:.0%} to {goal[1]:.0%}",
        f"rows saved: {_spread(found['rows_saved'], '.1%')}; hits: {_spread(found['hit_rate'], '.1%')} of the look-ups",
        f"speed-up: {_spread(found['speedup'], '.2f')}; identical texts: {same['count']}/{same['of']}",
    ]


def _run(model: Model, plan: Repetition, cache_bytes: int, repeat: int, speculative: Speculation) -> ArmRun:
    prompts = [
        Prompt(text, "repetitive", line, "the built-in questions") for line, text in enumerate(plan.questions, start=1)
    ]
    todo = tasks(model, prompts)
    watched, engine = counted(model)
    start = working_seconds()
    with watched.batch(max_running=plan.max_running, logits_cache_bytes=cache_bytes) as batch:
        added = [
            batch.add(todo[question].tokens, speculative=speculative, **sampling)
            for question, sampling in plan.requests(repeat)
        ]
        for run in batch.completed():
            if run.error is not None:
                raise run.error
        seconds = working_seconds() - start
        use = batch.logits_cache_use
    texts = tuple(choice.tokens for run in added for choice in run.result().choices)
    return ArmRun(texts, engine.passes, engine.rows, seconds, use)


def _share(use: LogitsCacheUse) -> float:
    return use.hits / max(1, use.hits + use.misses)


def _interval(values: Iterator[float]) -> dict[str, float | None]:
    return median_interval(list(values)).to_dict()


def _arm(run: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{run[name]:,} {name}" for name in ("passes", "rows", "tokens"))
    return f"{counts}, {run['seconds']:.2f} s"


def _held(cache: Mapping[str, int], most: int) -> str:
    return (
        f"held at the end: {cache['bytes'] / MEBIBYTE:.1f} of {most / MEBIBYTE:.1f} MiB, {cache['rows']:,} rows; "
        f"{cache['evicted']:,} made room for others, {cache['refused']:,} found none"
    )


def _spread(interval: Mapping[str, float | None], form: str) -> str:
    ends = "" if interval["low"] is None else f" ({interval['low']:{form}} to {interval['high']:{form}})"
    return f"{interval['median']:{form}}{ends}"
