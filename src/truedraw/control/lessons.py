"""What a controller learns of rounds, many at once: a pass leaves nothing of this code near the processor, so that each
alone takes about twice as long."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence, Set
from statistics import median
from typing import NamedTuple

from truedraw.control.account import PAUSING, Account
from truedraw.control.average import entries
from truedraw.control.experience import Experience
from truedraw.control.late import Late
from truedraw.control.listening import Listening
from truedraw.control.settling import is_wide
from truedraw.control.texts import Texts
from truedraw.control.width import Beside
from truedraw.protocol import Asker, Choice, Round

LATELY = 3  # passes, the least of which tells what is computed beside these texts: their own prompts are soon over
MOST = 64  # steps of the loop that may wait
TOGETHER = 8  # that are alike and learnt from at once: fewer rounds than a drafter rests before it is as if it were new


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
    length: float = 0.0  # tokens of these texts, in the mean, as each was asked for last
    passes: int = 1  # more than one: steps that were alike, of a text that is alone
    why: str = PAUSING  # nobody was asked


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
        for seen in joined(unread):
            self._learn(seen)

    def _learn(self, seen: Seen) -> None:
        rounds, passes = seen.rounds, seen.passes
        if seen.left:
            self._account.rests(seen.present, seen.why, passes)
        if seen.stood is not None:
            self._stood(seen.stood, passes)
        for done in rounds:
            self._texts.follow(done)
        is_fresh = self._late.saw(rounds, passes)
        rows = rounds[0].pass_rows
        if rows == 0:  # nothing was computed, so nothing was drafted either
            return
        texts = len(rounds) // passes
        computed, decided = rows + rounds[0].padding_rows, texts + seen.rows
        is_other = rows <= decided and not self._costs.alike(decided, computed)
        self._costs.length = seen.length
        self._account.saw(rounds, rows, self._costs.step(computed) if is_other else decided, passes)
        self._lately.extend([beside(seen, rows)] * min(passes, LATELY))
        self._passes(seen, rows, texts)
        self._beside_passes(seen, texts, counts=not is_fresh)

    def _passes(self, seen: Seen, rows: int, texts: int) -> None:
        """What they took; where too little is known to say what one should take, one by one."""
        seconds = [done.engine_seconds for done in seen.rounds]
        if seen.passes == 1:
            self._costs.add(rows, sum(seconds), texts, seen.rounds[0].padding_rows)
            return
        one_by_one = len(seconds) if self._costs.is_new else 1
        for each in seconds[:one_by_one]:
            self._costs.add(rows, each, texts)
        if one_by_one < len(seconds):
            self._costs.add_more(rows, median(seconds[1:]), texts, len(seconds) - 1)

    def _beside_passes(self, seen: Seen, texts: int, *, counts: bool) -> None:
        """What rounds took beside them; whether what drafting ones did counts."""
        rests = [done.seconds - done.draft_seconds - done.engine_seconds for done in seen.rounds]
        rests[0] -= seen.own
        each = rests if seen.passes > 1 else [sum(rests)]
        drafts, dozing = sum(done.drafted for done in seen.rounds) // seen.passes, seen.left > 1
        upkeep, listening = self._known.upkeep, self._listening
        is_own = any(done.sample in seen.present for done in seen.rounds)
        heard = is_own and not dozing
        for rest, rounds in entries(each, is_known=upkeep.knows(texts, drafts, heard=heard)) if counts else ():
            upkeep.add(texts, drafts, rest, rounds, heard=heard)
        for rest, rounds in entries(each, is_known=listening.knows(dozing=dozing)):
            listening.add(rest, dozing=dozing, rounds=rounds)

    def _stood(self, stood: Stood, rounds: int) -> None:
        """Enter what was decided in that round, and stood in those behind it."""
        askers, choices = stood.askers, stood.choices
        self._account.begin({asker.sample for asker in askers}, askers, [{} for _ in askers], {}, rounds)
        late = self._late.chosen(askers, choices, stood.step, stood.at)
        self._account.drafted(askers, choices, [late.get(place, (0.0, 0.0)) for place in range(len(askers))])
        if rounds > 1:
            self._late.chosen(askers, choices, stood.step + rounds - 1, stood.at + rounds - 1)


def joined(unread: Sequence[Seen]) -> Iterator[Seen]:
    """The same, with steps that are alike together: to learn from each alone takes as long as from a few."""
    held: list[Seen] = []
    for seen in unread:
        if held and not (len(held) < TOGETHER and are_alike(held[-1], seen)):
            yield together(held)
            held = []
        held.append(seen)
    if held:
        yield together(held)


def together(alike: Sequence[Seen]) -> Seen:
    """As one."""
    first = alike[0]
    return first._replace(rounds=[seen.rounds[0] for seen in alike], passes=len(alike)) if len(alike) > 1 else first


def are_alike(one: Seen, next_one: Seen) -> bool:
    """Whether the second, right behind the first, is a round of the same text, which is alone, under the same decision,
    or where nobody is asked, and with as many drafts. What a padded pass tells differs from one to the next."""
    if len(one.rounds) != 1 or len(next_one.rounds) != 1 or next_one.own or one.present != next_one.present:
        return False
    first, second = one.rounds[0], next_one.rounds[0]
    shapes = [(done.sample, done.pass_rows, done.drafted, done.forced) for done in (first, second)]
    is_padded = first.padding_rows > 0 or second.padding_rows > 0
    return shapes[0] == shapes[1] and first.pass_rows > 0 and not is_padded and goes_on(one, next_one)


def goes_on(one: Seen, next_one: Seen) -> bool:
    """Whether what was decided for the one holds for the other."""
    if one.stood is None or next_one.stood is None:
        return one.stood is next_one.stood and min(one.left, next_one.left) > 1
    same = [choice.source for choice in one.stood.choices] == [choice.source for choice in next_one.stood.choices]
    return same and one.rows == next_one.rows and next_one.stood.at - one.stood.at == 1


def is_urgent(rounds: Sequence[Round]) -> bool:
    """Whether a text has ended, or the next passes feel that this one was wide."""
    return any(done.finish_reason is not None for done in rounds) or is_wide(rounds[0].pass_rows, len(rounds))


def beside(seen: Seen, rows: int) -> Beside:
    """What of a pass over so many rows was not for texts that were decided for here."""
    mine = [done for done in seen.rounds if done.sample in seen.present]
    own = sum(1 + done.drafted + done.forced for done in mine) // seen.passes
    return Beside(rows - own, (len(seen.rounds) - len(mine)) // seen.passes)
