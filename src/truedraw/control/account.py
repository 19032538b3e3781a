"""Keeps count of what a controller decides and of what came of it. Sums only: a long run takes no more memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from truedraw.control.experience import Experience
from truedraw.control.explanation import (
    MEASURING,
    NO_ROOM,
    NOT_WORTH_IT,
    NOTHING_OFFERED,
    PAUSING,
    WAITING,
    Explanation,
    Passes,
    Stay,
    Use,
)
from truedraw.control.rivalry import Rivalry
from truedraw.protocol import Asker, Choice, Proposal, Round

__all__ = ["MEASURING", "NOTHING_OFFERED", "NOT_WORTH_IT", "NO_ROOM", "PAUSING", "WAITING", "Account"]

FEW_ROWS = 8  # of text that a pass computes anew for a text that is being written; more is a prompt


@dataclass(slots=True)
class Now:
    """What was decided for the round under way."""

    texts: Collection[int] = ()
    late: dict[int, str] = field(default_factory=dict)  # text -> who is asked for its drafts after the decision
    worths: dict[int, float] = field(default_factory=dict)  # text -> tokens of its drafts that should be kept
    is_drafting: bool = False
    expected: float = 0.0  # tokens of drafts
    draft_seconds: float = 0.0  # that such drafts usually take
    why: str = ""  # why it is plain, if it is


class Account:
    """One controller's, which fills it: `begin`, then `drafted` or `plain`, then `saw`, round by round."""

    def __init__(self, known: Experience) -> None:
        self._known = known
        self._sums = Explanation()
        self._passes: dict[tuple[int, int], Passes] = {}  # by texts and draft rows; seconds of drafters alone so far
        self._now = Now()

    def explanation(self) -> Explanation:
        """So far; what passes cost is taken from what is known of them by now.

        Any thread may ask: the sums go on meanwhile, and what belongs to one round may be there in part.
        """
        found = Explanation()
        found.add(replace(self._sums, widths=self._passes))
        found.rivalries = {pair: rivalry for pair, rivalry in found.rivalries.items() if rivalry.times}
        found.widths = {key: self._priced(*key, passes) for key, passes in found.widths.items() if passes.rounds}
        return found

    def begin(
        self, samples: Collection[int], askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]],
        seconds: Mapping[str, float], rounds: int = 1,
    ) -> None:  # fmt: skip
        """Whose round it is, or whose rounds are alike; who was asked, and what came of it."""
        self._sums.rounds += rounds
        self._now = Now(samples)
        for asker, offer in zip(askers, offers, strict=True):
            for source, proposal in offer.items():
                self._offered(source, len(proposal))
                pace = self._known.of(source, asker.coupled).pace
                self._now.draft_seconds += pace.call if pace.is_known else 0.0
        for source, took in seconds.items():
            self._of(source).seconds += took

    def rests(self, samples: Collection[int], why: str, rounds: int = 1) -> None:
        """Nobody was asked."""
        self._sums.rounds += rounds
        self._now = Now(set(samples))
        self.plain(why, rounds=rounds)

    def weighed(self, worths: Mapping[str, float]) -> None:
        """What each drafter's offer is worth to one text: tokens expected, less the price of drafts yet to be made."""
        for pair in combinations(sorted(worths), 2):
            first, second = (worths[source] for source in pair)
            self._sums.rivalries.setdefault(pair, Rivalry()).add(Rivalry(1, first, second))

    def plain(self, why: str, speed: float | None = None, rounds: int = 1) -> None:
        """Nothing is drafted; `speed`: the best with drafts, relative to plain sampling, where it was weighed."""
        self._now.why, at = why, self._sums.rounds
        stay = Stay(rounds, at - rounds + 1, at, speed is not None, speed or 0.0)
        self._sums.plain.setdefault(why, Stay()).add(stay)

    def drafted(
        self, askers: Sequence[Asker], choices: Sequence[Choice], expected: Sequence[tuple[float, float]]
    ) -> None:
        """What the texts take; of each the draft tokens that should be kept, and the seconds until it is there."""
        self._now.is_drafting = True
        for asker, choice, (worth, seconds) in zip(askers, choices, expected, strict=True):
            if choice.source:
                self._now.worths[asker.sample] = worth
                self._now.expected += worth
                if choice.tokens:
                    self._now.late[asker.sample] = choice.source
                    self._now.draft_seconds += seconds

    def saw(self, rounds: Sequence[Round], rows: int, held: int, passes: int = 1) -> None:
        """What came of it in a pass over `rows` rows, of which `held` are those of texts and drafts, taken or not; or
        in so many passes of one text."""
        now, self._now = self._now, Now()
        mine = [done for done in rounds if done.sample in now.texts]
        self._kept(mine, now, passes)
        texts = len(mine) // passes
        if not mine or len(mine) < len(rounds) or rows > held + FEW_ROWS * texts:
            return
        sums = self._passes.setdefault((texts, held - texts), Passes())
        tokens, seconds = sum(len(done.tokens) for done in mine), sum(done.seconds for done in mine)
        spent = sum(done.draft_seconds for done in mine)
        if now.why:
            self._sums.plain[now.why].add(Stay(expected_seconds=passes * now.draft_seconds, seconds=spent))
            seconds, now.draft_seconds = seconds - spent, 0.0
        expected, drafting = passes * (texts + now.expected), passes * now.draft_seconds
        costs = self._known.costs
        told = 0 if costs.is_new else passes  # at first it is not known how slow the machine is
        length, slow = passes * costs.length, told * costs.slowness
        sums.add(Passes(passes, expected, tokens, drafting, 0.0, seconds, length, slow, told))

    def _kept(self, rounds: Sequence[Round], now: Now, passes: int) -> None:
        if any(done.drafted for done in rounds):
            self._sums.draft_rounds += passes
        elif now.is_drafting:
            self.plain(NOTHING_OFFERED, rounds=passes)
            now.why = NOTHING_OFFERED
        for done in rounds:
            if done.source:
                use = self._of(done.source)
                use.taken, use.drafted = use.taken + 1, use.drafted + done.drafted
                use.accepted += done.accepted
                use.expected += min(now.worths.get(done.sample, 0.0), done.drafted)
            source = now.late.get(done.sample)
            if source is not None and done.late_seconds is not None:
                self._offered(source, done.drafted)
                self._of(source).seconds += done.late_seconds

    def _offered(self, source: str, tokens: int) -> None:
        use = self._of(source)
        use.asked, use.offered = use.asked + 1, use.offered + (tokens > 0)
        use.offered_tokens += tokens

    def _priced(self, texts: int, rows: int, passes: Passes) -> Passes:
        length, known = passes.length / passes.rounds, self._known
        took, plain = (known.round_seconds(texts + more, texts, more, length) for more in (rows, 0))
        rounds = passes.rounds - passes.told + passes.slow / known.costs.slowness
        return replace(passes, expected_seconds=rounds * took + passes.expected_seconds, plain_seconds=rounds * plain)

    def _of(self, source: str) -> Use:
        return self._sums.drafters.setdefault(source, Use())
