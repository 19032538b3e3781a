"""What a controller learns of rounds, many at once: a pass leaves nothing of this code near the processor, so that each
alone takes about twice as long."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from typing import NamedTuple

from truedraw.control.account import Account
from truedraw.control.experience import Experience
from truedraw.control.late import Late
from truedraw.control.listening import Listening
from truedraw.control.settling import is_wide
from truedraw.control.texts import Texts
from truedraw.control.width import Beside
from truedraw.protocol import Asker, Choice, Round

LATELY = 3  # passes, the least of which tells what is computed beside these texts: their own prompts are soon over
MOST = 64  # steps of the loop that may wait


class Stood(NamedTuple):
    """A decision that was taken over, and the round: of the controller, and of all that learn from one another."""

    step: int
    at: int
    askers: Sequence[Asker]
    choices: Sequence[Choice]


class Seen(NamedTuple):
    """One step of the loop, and what the controller had to do with it."""

    rounds: Sequence[Round]
    present: Set[int]  # texts that it decided for
    rows: int  # of drafts that it decided for
    left: int  # rounds until somebody is asked, it included; 0: somebody was
    stood: Stood | None = None  # what it decided without looking at anything
    own: float = 0.0  # seconds that it took to decide, a part of these rounds'
    length: float = 0.0  # tokens of its texts, in the mean, when it was asked last


class Lessons:
    """One controller's, for what it learns with."""

    def __init__(self, known: Experience, account: Account, texts: Texts, late: Late, listening: Listening) -> None:
        self._known, self._costs = known, known.costs
        self._account, self._texts, self._late, self._listening = account, texts, late, listening
        self._lately = deque([Beside()], maxlen=LATELY)
        self._unread: list[Seen] = []

    @property
    def beside(self) -> Beside:
        """What passes compute that is not for its texts."""
        return min(self._lately)

    def add(self, seen: Seen, wait: bool) -> None:
        """To be read before anything is decided; at once where that is next, unless it is said that it can wait: then
        no round's time has a part in it."""
        self._unread.append(seen)
        is_last = not wait and seen.left <= 1 and any(done.sample in seen.present for done in seen.rounds)
        if is_last or len(self._unread) >= MOST:
            self.read()

    def read(self) -> None:
        """All that was added, in its order."""
        unread, self._unread = self._unread, []
        for seen in unread:
            self._learn(seen)

    def _learn(self, seen: Seen) -> None:
        rounds = seen.rounds
        if seen.left:
            self._account.rests(seen.present)
        if seen.stood is not None:
            self._stood(seen.stood)
        for done in rounds:
            self._texts.follow(done)
        is_fresh = self._late.saw(rounds)
        rows = rounds[0].pass_rows
        if rows == 0:  # nothing was computed, so nothing was drafted either
            return
        computed, decided = rows + rounds[0].padding_rows, len(rounds) + seen.rows
        is_other = rows <= decided and not self._costs.alike(decided, computed)
        self._account.saw(rounds, rows, self._costs.step(computed) if is_other else decided)
        self._lately.append(beside(seen, rows))
        engine, texts = sum(done.engine_seconds for done in rounds), len(rounds)
        self._costs.length = seen.length
        self._costs.add(rows, engine, texts, rounds[0].padding_rows)
        rest = sum(done.seconds - done.draft_seconds for done in rounds) - engine - seen.own
        if not is_fresh:
            self._known.upkeep.add(texts, sum(done.drafted for done in rounds), rest)
        self._listening.add(rest, dozing=seen.left > 1)

    def _stood(self, stood: Stood) -> None:
        """Enter what was decided in that round."""
        askers, choices = stood.askers, stood.choices
        self._account.begin({asker.sample for asker in askers}, askers, [{} for _ in askers], {})
        late = self._late.chosen(askers, choices, stood.step, stood.at)
        self._account.drafted(askers, choices, [late.get(place, (0.0, 0.0)) for place in range(len(askers))])


def is_urgent(rounds: Sequence[Round]) -> bool:
    """Whether a text has ended, or the next passes feel that this one was wide."""
    return any(done.finish_reason is not None for done in rounds) or is_wide(rounds[0].pass_rows, len(rounds))


def beside(seen: Seen, rows: int) -> Beside:
    """What of a pass over so many rows was not for texts that were decided for here."""
    mine = [done for done in seen.rounds if done.sample in seen.present]
    own = sum(1 + done.drafted + done.forced for done in mine)
    return Beside(rows - own, len(seen.rounds) - len(mine))
