"""Draft while it pays: by measured cost and measured gain, with plain sampling always one of the choices.

A round that drafts yields g tokens for the time d, a plain round one token for the time c; drafting pays while
g / d > 1 / c (the renewal-reward comparison with one arm each). All three are running averages of what happened in
earlier rounds, so a decision never looks at a token whose fate it decides, and the sampled law is untouched.

While drafting does not pay, short probes look whether the text has changed; the wait between them doubles.
"""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.protocol import Round

PATIENCE = 8  # drafting rounds before the first judgement
MEMORY = 24  # rounds that the running averages reach back
MARGIN = 1.02  # drafting must gain this much: the averages are noisy, and being wrong costs more than it brings
FIRST_WAIT = 24  # rounds without drafts before the first probe
LONGEST_WAIT = 256
PROBE = 3  # drafting rounds in a probe
FIRST_LOOK = 3  # plain rounds at the start, so that their cost is known


class Average:
    """A running mean that turns into an exponential one with a memory of `MEMORY` values."""

    def __init__(self) -> None:
        self.count, self.value = 0, 0.0

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, MEMORY)


class PayoffController:
    """protocol.Controller with one decision for all running samples."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self._tokens = num_speculative_tokens
        self._gain, self._draft_cost, self._plain_cost = Average(), Average(), Average()
        self._rounds_seen = 0
        self._trial = PATIENCE  # drafting rounds until the next judgement
        self._pause, self._wait = FIRST_LOOK, FIRST_WAIT

    def budget(self, rooms: Sequence[int]) -> list[int]:
        """The number of draft tokens while drafting pays or is being tried, else 0."""
        tokens = 0 if self._pause else self._tokens
        return [min(tokens, room) for room in rooms]

    def observe(self, rounds: Sequence[Round]) -> None:
        """Learn from one step of the loop, the rounds of all samples that ran in it."""
        self._rounds_seen += 1
        if self._rounds_seen == 1:
            return  # its pass computed the prompt
        drafted, seconds = any(r.drafted for r in rounds), sum(r.seconds for r in rounds)
        if drafted:
            self._gain.add(sum(len(r.tokens) for r in rounds) / len(rounds))
            self._draft_cost.add(seconds)
            self._judge()
        else:
            self._plain_cost.add(seconds)
            self._pause = max(self._pause - 1, 0)

    def _judge(self) -> None:
        self._trial -= 1
        if self._trial > 0:
            return
        if self._pays():
            self._trial, self._wait = 1, FIRST_WAIT
        else:
            self._trial, self._pause = PROBE, self._wait
            self._wait = min(2 * self._wait, LONGEST_WAIT)

    def _pays(self) -> bool:
        return self._gain.value * self._plain_cost.value > MARGIN * self._draft_cost.value
