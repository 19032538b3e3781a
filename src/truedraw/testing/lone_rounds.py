"""Rounds without a loop around them: a tree is drawn, a rule judges it, and what it was drawn from is known.

Where the loop needs thousands of branches for four tokens, a round by itself needs few for twenty: its laws allow few
tokens at a node, though the vocabulary may be large, and every text has laws of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from truedraw.protocol import ROOT, DraftLaw, Floats, Ints, Proposal, Purpose, Randomness
from truedraw.testing.enumeration import law_of
from truedraw.testing.sparse import sparse

Text = tuple[int, ...]
Form = Callable[[int, Floats], DraftLaw]
"""How the law of a node is said."""
FORMS: dict[str, Form] = {
    "dense laws": lambda _, law: law.copy(),
    "sparse laws": lambda _, law: sparse(law),
    "laws of both forms": lambda node, law: sparse(law) if node % 2 else law.copy(),
}
EDGES = (0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 256, 257, 32767, 32768, 65535, 65536)
"""Tokens about which a vocabulary may end that a rule has room for."""
APART = 1e-4, 1e-6, 1e-8
"""By which share a law that is all but the target's differs from it, by the number of tokens before it."""
FAINT = 2e-3  # of the chance of a token, that of the next one
WIDE = 16  # tokens of a vocabulary, from which on the edges alone are drafted


class Drawn:
    """A tree as an outcome that is like no other."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal


@dataclass(frozen=True)
class LoneRound:
    """A shape and its laws. Sources of a node:

    "q" a sample of a law over `drafted` tokens, "w" one without the tokens of earlier siblings, "o" one of another law,
    "n" one of a law that is all but the target's; "1" a sample of a law with one token; "t" that token as a certain
    draft, "u" one that is never drafted, "x" one that the target may exclude.
    """

    name: str
    nodes: tuple[tuple[int, str], ...]
    vocab: int = 5
    drafted: int = 2
    possible: int = 4  # tokens that the target allows behind a text, and those that are drafted
    position: int = 3
    greedy: bool = False  # the target is certain
    excluding: float = 0.2  # share of laws of the target that exclude a token which may be drafted
    faint: bool = False  # tokens of the target get rarer by orders of magnitude
    alike: bool = False  # all texts of one length have one law
    _known: dict[tuple[Text, str], Floats] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return self.name

    def p(self, text: Text) -> Floats:
        """The target's law [vocab] behind these tokens of the round."""
        return self._law(text, "p")

    def q(self, text: Text, source: str, siblings: Sequence[int] = ()) -> Floats:
        """That of a draft [vocab]."""
        law = self._law(text, "q" if source == "w" else source)
        if source != "w":
            return law
        left: Floats = law.copy()
        left[list(siblings)] = 0.0
        left /= left.sum()
        return left

    def draw(self, randomness: Randomness, form: Form) -> Proposal:
        """A tree, node by node."""
        texts: list[Text] = []
        tokens: list[int] = []
        laws: list[DraftLaw | None] = []
        for node, (parent, source) in enumerate(self.nodes):
            above = texts[parent] if parent != ROOT else ()
            siblings = [token for token, (other, _) in zip(tokens, self.nodes, strict=False) if other == parent]
            law = self.q(above, source, siblings)
            certain = source in "tux"
            token = int(law.argmax()) if certain else randomness.choose(law, Purpose.DRAFT, self.position, node)
            laws.append(None if certain else form(node, law))
            tokens.append(token)
            texts.append((*above, token))
        parents = np.array([parent for parent, _ in self.nodes], np.int64)
        return Proposal(np.array(tokens, np.int64), parents, tuple(laws), self._confidence())

    def proposals(self, form: Form) -> Iterator[tuple[Proposal, float]]:
        """Every tree that can be drawn, and its chance."""
        drawn = law_of(lambda walker: Drawn(self.draw(walker.sample(0), form)))
        yield from ((each.proposal, chance) for each, chance in drawn.items())

    def _confidence(self) -> Floats | None:
        return np.full(len(self.nodes), 0.5) if len(self.nodes) % 2 else None

    def _law(self, text: Text, source: str) -> Floats:
        known = (len(text),) if self.alike else text
        if (known, source) not in self._known:
            self._known[known, source] = self._made(known, source)
        return self._known[known, source]

    def _made(self, text: Text, source: str) -> Floats:
        if source == "n":
            near = self._law(text, "p") * (1 + APART[len(text) % len(APART)] * np.cos(np.arange(self.vocab)))
            return np.asarray(near / near.sum())
        rng = np.random.default_rng([len(self.nodes), self.vocab, *text])
        pool = self._tokens(rng)
        weights, law = rng.dirichlet(np.full(len(pool), 0.8), 2) + 0.6 / len(pool), np.zeros(self.vocab)
        few = {"q": pool[: self.drafted], "o": pool[1 : self.drafted + 1], "1": pool[:1], "t": pool[:1], "u": pool[-1:]}
        few["x"] = pool[1:2]
        if source == "p":
            law[pool] = self._target(rng, weights[0])
        else:
            law[few[source]] = weights[1][: len(few[source])]
        law /= law.sum()
        return law

    def _tokens(self, rng: np.random.Generator) -> Ints:
        """The tokens of one text, in the order of their part: the first ones are drafted."""
        edges = [token for token in EDGES if token < self.vocab] + [self.vocab - 1]
        narrow = self.vocab < WIDE or self.possible > len(edges)
        return rng.permutation(np.arange(self.vocab) if narrow else np.unique(edges))[: self.possible]

    def _target(self, rng: np.random.Generator, weights: Floats) -> Floats:
        """What is drafted is likely, so that long chains are kept, and now and then one of it cannot come."""
        weights[: self.drafted] *= 2
        weights[0] += 0.5 * weights.sum()
        if self.faint:
            weights *= FAINT ** np.arange(len(weights))
        if self.greedy:
            only = rng.choice(len(weights), p=weights / weights.sum())
            return np.asarray(np.arange(len(weights)) == only, np.float64)
        if self.drafted > 1 and rng.random() < self.excluding:
            weights[1] = 0.0
        return weights


class RoundRows:
    """protocol.Rows of a round, which show p and can do nothing else."""

    def __init__(self, known: LoneRound, proposal: Proposal, before: Text = ()) -> None:
        self._known, self._texts = known, [before]
        for token, parent in zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True):
            self._texts.append((*self._texts[1 + parent], token))

    def __getitem__(self, row: int) -> Floats:
        return self._known.p(self._texts[row]).copy()  # a rule that wrote into it should harm itself alone
