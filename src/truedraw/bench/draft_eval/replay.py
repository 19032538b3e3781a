"""What a drafter says along texts that are written: its own code, made to draw the tokens that the texts have.

At every place it is asked for a chain of DEEPEST tokens, as after a plain round; all chance is injected, so chance
that always names the text's own next token has it draft just that, and hand over the law at each position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from truedraw.bench.draft_eval.places import NOT_DRAWN, kept, matched, place, rank
from truedraw.bench.draft_eval.rounds import CANDIDATES, DEEPEST, Places
from truedraw.bench.draft_eval.texts import Said, Text, said
from truedraw.draft.site import close, close_each
from truedraw.errors import BadParameter
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Drafter, DraftLaw, Engine, Floats, Law, Proposal, Purpose, Randomness, SparseLaw, Work
from truedraw.registry import BUILT_IN
from truedraw.sampling.randomness import choose_sparse
from truedraw.verify.token import TokenVerifier
from truedraw.verify.traversal import TraversalVerifier

BORROWING = ("early-exit",)  # methods that draft from the pages that the target has computed of a text
TOGETHER = 8
"""Texts that are replayed side by side: a drafter's calls are cheaper so, and the logits of each take 25 MB."""


class Following:
    """protocol.Randomness that always draws what a text has, whatever the law says."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tokens

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """The token of the chain's node, counted from 0, behind a text of `position` tokens."""
        return self._tokens[position + node]

    def choose_sparse(self, law: SparseLaw, purpose: Purpose, position: int, node: int = 0) -> int:
        """The same."""
        return self._tokens[position + node]

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """A drafter verifies nothing."""
        raise NotImplementedError("a replay only draws")


class Along:
    """One text while it is replayed: the drafter's state, and the target's laws a few places ahead.

    `engine` is the target's where it is to read the text as well, as it does while it writes one.
    """

    def __init__(self, text: Text, scores: Said, drafter: Drafter, engine: Engine | None = None) -> None:
        self.text, self.whole = text, (*text.prompt, *text.tokens)
        self.chance = Following(self.whole)
        self._scores, self._laws = scores, [text.law]
        self._p: dict[int, Floats] = {}
        self.state = drafter.open(text.prompt, text.law)
        self.read = None if engine is None else engine.open(text.prompt)

    def go_on(self, index: int) -> None:
        """Token number `index` stands."""
        self.state.commit([self.text.tokens[index]], self._scores.scores(index))
        if self.read is not None:
            self.read.commit([self.text.tokens[index]])
        self._p.pop(index, None)

    def left(self, index: int) -> int:
        """Tokens that the text has behind that one, as far as a chain reaches."""
        return min(DEEPEST, len(self.text.tokens) - 1 - index)

    def p(self, index: int) -> Floats:
        """[vocab] of that token; to be asked for in rising order."""
        if index not in self._p:
            self._p[index] = self._law(index)(self._scores.logits[index])
        return self._p[index]

    def close(self) -> None:
        """Give back what is held of the text."""
        close_each([self.state] if self.read is None else [self.state, self.read])

    def _law(self, index: int) -> Law:
        while len(self._laws) <= index:
            last = len(self._laws) - 1
            self._laws.append(self._laws[last].after(self.text.tokens[last], self.p(last)))
        return self._laws[index]


def drafter_of(speculation: Speculation, model: Model, *, trees: bool = False) -> Drafter:
    """The drafter of a config, unguarded, as for a p/q rule; without `trees` for a rule that takes chains only.

    A temperature that is tuned while texts are written is the target's here, so that numbers can be met again. Raises
    BadParameter for a drafter that is not ours, whose calls could not be trusted to end.
    """
    if speculation.method not in BUILT_IN["drafters"]:
        raise BadParameter("method", f"{speculation.method!r} is a plug-in; `truedraw bench` measures those")
    plain = speculation.but(rejection_sample_method=None).untuned()
    made = plain.drafter(TraversalVerifier() if trees else TokenVerifier(), model.drafts)
    return made.drafter if isinstance(made, GuardedDrafter) else made


def replay(model: Model, texts: Sequence[Text], speculation: Speculation) -> Iterator[Places]:
    """The places of so many texts after another; raises BadParameter for a drafter that hands over no laws."""
    drafter = drafter_of(speculation, model)
    chance = np.random.default_rng(0)  # of candidates that fail
    try:
        for start in range(0, len(texts), TOGETHER):
            group = [text for text in texts[start : start + TOGETHER] if len(text.tokens) > 1]
            along = [begun(model, text, drafter, speculation) for text in group]
            try:
                walked = _walked(drafter, along, speculation.method, (model.engine, chance))
                yield Places.of([{**row, "text": start + row["text"]} for row in walked])
            finally:
                close_each(along)
    finally:
        close(drafter)


def begun(model: Model, text: Text, drafter: Drafter, speculation: Speculation) -> Along:
    """A text that nothing is drafted for yet."""
    return Along(text, said(model.engine, text), drafter, model.engine if speculation.method in BORROWING else None)


def go_on(along: Sequence[Along], index: int, engine: Engine) -> None:
    """Token number `index` of all of them stands, and the target has read what is before it."""
    if works := [Work(each.read) for each in along if each.read is not None]:
        engine.forward(works)
    for each in along:
        each.go_on(index)


def _walked(
    drafter: Drafter, along: Sequence[Along], method: str, means: tuple[Engine, np.random.Generator]
) -> Iterator[dict[str, Any]]:
    """The columns of Places at each place, all texts token by token; `means` are the target's engine, and chance."""
    engine, chance = means
    for index in range(max((len(each.text.tokens) - 1 for each in along), default=0)):
        here = [number for number, each in enumerate(along) if each.left(index) > 0]
        some = [along[number] for number in here]
        go_on(some, index, engine)
        lefts = [each.left(index) for each in some]
        proposals = drafter.propose([each.state for each in some], lefts, [each.chance for each in some])
        for number, each, proposal in zip(here, some, proposals, strict=True):
            check(proposal, method)
            yield {"text": number, "category": each.text.category, "index": index,
                   **fates(each, index, proposal, chance)}  # fmt: skip


def check(proposal: Proposal, method: str) -> None:
    """Raises BadParameter where there is no law to compare."""
    if any(law is None for law in proposal.laws):
        raise BadParameter(
            "method",
            f"{method} hands over certain tokens, which have no law to compare with the target's; give head, ngram-lm "
            "or model here, and measure it with `truedraw bench`",
        )


def fates(along: Along, index: int, proposal: Proposal, chance: np.random.Generator) -> dict[str, Any]:
    """What of each draft behind token number `index` would become: all columns of Places but the first."""
    found: dict[str, Any] = {
        "is_drafted": np.arange(DEEPEST) < len(proposal),
        "chances": np.zeros((DEEPEST, CANDIDATES)),
        "shares": np.zeros((DEEPEST, CANDIDATES)),
        "matches": np.zeros(DEEPEST),
        "match_shares": np.zeros(DEEPEST),
        "ranks": np.full(DEEPEST, NOT_DRAWN),
    }
    for depth, law in enumerate(proposal.laws):
        assert law is not None
        at, token = index + 1 + depth, along.text.tokens[index + 1 + depth]
        meeting = place(along.p(at), law, token)
        found["chances"][depth], found["shares"][depth] = kept(meeting, CANDIDATES, chance)
        found["matches"][depth], found["match_shares"][depth] = matched(meeting)
        noise = partial(redrawn, along.text.randomness, len(along.text.prompt) + at)
        found["ranks"][depth] = rank(law, token, CANDIDATES, noise)
    return found


def redrawn(randomness: Randomness, position: int, law: DraftLaw) -> int:
    """With the noise that the target's token at `position` was drawn with."""
    if isinstance(law, SparseLaw):
        return choose_sparse(randomness, law, Purpose.TARGET, position)
    return randomness.choose(law, Purpose.TARGET, position)
