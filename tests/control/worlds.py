"""Simulated drafters, texts and costs: what a controller meets, and what one that knows everything would reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from truedraw.control.costs import PassCosts
from truedraw.control.offers import Offer, Pile, survivals
from truedraw.control.table import LADDER
from truedraw.engine.openvino.row_counts import RowCounts
from truedraw.protocol import NOTHING, Asker, Choice, Controller, Proposal, Rests, Round

Cost = Callable[[int], float]
MOST = 15
table = PassCosts().table
LIKELY = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # confidences that a drafter tells apart


@dataclass
class Source:
    """A drafter: how often it finds something, what its confidence is worth, and what a token costs.

    `kept` of (step, sample, confidence) is the true chance of a token; None as confidence: it has no opinion.
    """

    kept: Callable[[int, int, float], float]
    found: float = 1.0
    seconds: float = 0.0
    is_certain: bool = True
    has_opinion: bool = True

    def offer(self, rng: np.random.Generator, tokens: int, still: float | None = None) -> Proposal:
        """A chain of so many tokens, each as likely as the one before it, or as one that still goes on."""
        if tokens == 0 or (still is None and rng.random() >= self.found):
            return NOTHING
        likely = np.full(tokens, still or rng.choice(LIKELY)) if self.has_opinion else None
        laws = None if self.is_certain else [np.ones(1)] * tokens
        return Proposal.chain([0] * tokens, laws, likely)


@dataclass
class World:
    """`samples` texts that do not end, and what passes cost: `cost` of rows, with noise.

    `beside`: texts in each pass that somebody else decides for. `holds`: passes are padded as a real engine pads them,
    and take longer where their row count changes. `speed` of (step): how many times as long everything takes. `length`:
    tokens of each text, for each of which a row takes `of_token` more.
    """

    sources: Mapping[str, Source]
    samples: int = 1
    cost: Cost = table
    noise: float = 0.08
    beside: int = 0
    holds: bool = False
    speed: Callable[[int], float] = lambda _: 1.0
    length: int = 0
    of_token: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    chosen: list[list[int]] = field(default_factory=list)  # draft tokens by round and text
    by: list[list[str]] = field(default_factory=list)  # sources by round and text
    still: dict[tuple[str, int], float] = field(default_factory=dict)  # confidence of offers that texts still follow
    counts: RowCounts = field(default_factory=RowCounts)
    last: int = 0  # rows of the last pass, where it holds them

    def run(self, controller: Controller, rounds: int, seed: int = 0) -> float:
        """Speed against plain sampling."""
        rng = np.random.default_rng(seed)
        for step in range(rounds):
            self._round(controller, step, rng)
        return self.tokens / self.seconds * self.takes(self.samples + self.beside) / self.samples

    def takes(self, rows: int) -> float:
        """A pass over so many rows, without noise."""
        return self.cost(rows) + rows * self.length * self.of_token

    def _round(self, controller: Controller, step: int, rng: np.random.Generator) -> None:
        askers = [Asker(i, MOST, tuple(self.sources), length=self.length) for i in range(self.samples)]
        numbers = [asker.sample for asker in askers]
        rests = controller.rest(numbers) if isinstance(controller, Rests) else [0] * len(askers)
        awake = [place for place, rounds in enumerate(rests) if not rounds]
        wishes: list[Mapping[str, int]] = [{} for _ in askers]
        for place, wish in zip(awake, controller.budget([askers[i] for i in awake]) if awake else (), strict=True):
            wishes[place] = wish
        offers = [
            {name: self.sources[name].offer(rng, n, self.still.get((name, i))) for name, n in wish.items()}
            for i, wish in enumerate(wishes)
        ]
        spent = {name: 0.0 for wish in wishes for name in wish}
        for offer in offers:
            for name, proposal in offer.items():
                spent[name] += self.sources[name].seconds * len(proposal)
        choices = [Choice() for _ in askers]
        made_for = [askers[i] for i in awake], [offers[i] for i in awake]
        for place, choice in zip(awake, controller.choose(*made_for, spent) if awake else (), strict=True):
            choices[place] = choice
        drafts: list[tuple[str, Proposal, float | None, float]] = []
        for offer, choice in zip(offers, choices, strict=True):
            made = offer.get(choice.source, NOTHING)
            made = made.only(choice.nodes) if choice.nodes is not None else made
            late = None
            if choice.tokens:
                made = self.sources[choice.source].offer(rng, choice.tokens)
                late = self.sources[choice.source].seconds * len(made)
            name = choice.source or next(iter(offer), next(iter(self.sources)))
            known = offer.get(name, made)
            drafts.append((name, made, late, 0.5 if known.confidence is None else float(known.confidence[0])))
        self._passed(controller, step, rng, drafts, sum(spent.values()))

    def chance(self, name: str, step: int, sample: int, made: Proposal) -> float:
        """Of a token of an offer."""
        likely = 0.5 if made.confidence is None or not len(made) else float(made.confidence[0])
        return self.sources[name].kept(step, sample, likely)

    def _passed(self, controller: Controller, step: int, rng: np.random.Generator,
                drafts: Sequence[tuple[str, Proposal, float | None, float]], offering: float) -> None:  # fmt: skip
        rows = self.samples + self.beside + sum(len(made) for _, made, _, _ in drafts)
        padding = self.counts.choose(rows) - rows if self.holds else 0
        took, done = self.speed(step) * self.takes(rows + padding) * rng.lognormal(0, self.noise), []
        if self.holds and rows + padding != self.last:
            took, self.last = took + 0.35, rows + padding
        each_took = took / (self.samples + self.beside)
        for sample, (name, made, late, likely) in enumerate(drafts):
            chance, kept = self.sources[name].kept(step, sample, likely), 0
            while kept < len(made) and rng.random() < chance:
                kept += 1
            goes_on = kept == len(made) and rng.random() < chance  # what was not taken of the offer comes all the same
            tokens = (*([0] * kept), 0 if goes_on else 1)
            self.still.pop((name, sample), None)
            if goes_on:
                self.still[name, sample] = likely
            spent = (late or 0.0) + offering / self.samples
            done.append(Round(sample, tokens, (), (), (), len(made), kept, draft_seconds=spent, late_seconds=late,
                              engine_seconds=each_took, seconds=each_took + spent, pass_rows=rows,
                              padding_rows=padding, source=name if len(made) else ""))  # fmt: skip
        self.tokens += sum(len(each.tokens) for each in done)
        done += [Round(1000 + other, (0,), (), (), (), 0, 0, engine_seconds=each_took, seconds=each_took,
                       pass_rows=rows, padding_rows=padding) for other in range(self.beside)]  # fmt: skip
        controller.observe(done)
        self.seconds += sum(each.seconds for each in done)
        self.chosen.append([len(made) for _, made, _, _ in drafts])
        self.by.append([name if len(made) else "" for name, made, _, _ in drafts])


class Knowing:
    """A controller that knows every chance, and holds one width."""

    def __init__(self, world: World, rows: int) -> None:
        self._world, self._rows, self._step = world, rows, -1

    def budget(self, askers: Sequence[Asker]) -> list[dict[str, int]]:
        """Everything."""
        self._step += 1
        return [dict.fromkeys(asker.sources, MOST) if self._rows else {} for asker in askers]

    def choose(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """The tokens that are most likely to be kept."""
        return Pile([self._best(i, offer) for i, offer in enumerate(offers)]).taken(self._rows)

    def observe(self, rounds: Sequence[Round]) -> None:
        """Nothing is new."""

    def _best(self, sample: int, offer: Mapping[str, Proposal]) -> Offer | None:
        known = [
            Offer(name, survivals(made, [self._world.chance(name, self._step, sample, made)] * len(made)), True)
            for name, made in offer.items()
        ]
        return max(known, key=lambda each: each.worth, default=None)


def best_speed(world: World, rounds: int = 3000) -> float:
    """Of the best controller that knows everything but the future, over all widths: those few that were best in a
    tenth of the rounds."""
    widths = [rows - world.samples for rows in (world.samples, *LADDER) if world.samples <= rows]
    few = rounds // world.samples
    promising = sorted(widths, key=lambda rows: _held(world, rows, few // 10))[-3:]
    return max(_held(world, rows, few) for rows in promising)


def _held(world: World, rows: int, rounds: int) -> float:
    """Its speed at one width."""
    fresh = replace(world, chosen=[], by=[], still={}, noise=0.0)
    return fresh.run(Knowing(fresh, rows), rounds, 7)
