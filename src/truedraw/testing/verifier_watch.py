"""A rule whose verdicts are looked at: what it says must fit together, and what it was shown is not its own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from truedraw.engine.trees import is_chain
from truedraw.protocol import NOTHING, ROOT, DraftLaw, Floats, Proposal, Randomness, Rows, SparseLaw, Verdict, Verifier
from truedraw.testing.checks import require, same_law


class Watched:
    """protocol.Verifier around another; raises AssertionError for a verdict that is none, and for what was changed."""

    exact: ClassVar[bool] = False
    coupled: ClassVar[bool] = False

    def __init__(self, rule: Verifier) -> None:
        self._rule, self._seen = rule, (NOTHING, NOTHING)

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """The other's verdict."""
        if self._seen[0] is not proposal:
            self._seen = proposal, _copied(proposal)
        watched = _WatchedRows(rows)
        verdict = self._rule(proposal, watched, randomness, position)
        _require_as_before(*self._seen)
        watched.require_unchanged()
        _require_verdict(proposal, rows, verdict)
        return verdict


def _copied(proposal: Proposal) -> Proposal:
    laws = tuple(map(_copy_of, proposal.laws))
    confidence = None if proposal.confidence is None else proposal.confidence.copy()
    return Proposal(proposal.tokens.copy(), proposal.parents.copy(), laws, confidence)


def _copy_of(law: DraftLaw | None) -> DraftLaw | None:
    if isinstance(law, SparseLaw):
        return SparseLaw(law.tokens.copy(), law.weights.copy(), law.vocab_size)
    return None if law is None else law.copy()


def _require_as_before(proposal: Proposal, before: Proposal) -> None:
    for name in ("tokens", "parents", "confidence"):
        same = np.array_equal(getattr(proposal, name), getattr(before, name))
        require(same, f"the verifier wrote into the {name} of the proposal")
    for node, (law, old) in enumerate(zip(proposal.laws, before.laws, strict=True)):
        require(same_law(law, old), f"the verifier wrote into the law of draft node {node}")


class _WatchedRows:
    """The target's rows, of which a rule may look at any and change none."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._seen = rows, dict[int, tuple[Floats, Floats]]()

    def __getitem__(self, row: int) -> Floats:
        if row not in self._seen:
            p = self._rows[row]
            self._seen[row] = p, p.copy()
        return self._seen[row][0]

    def require_unchanged(self) -> None:
        """Raises AssertionError."""
        for row, (p, before) in self._seen.items():
            require(np.array_equal(p, before), f"the verifier wrote into row {row} of the target")


def _require_verdict(proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
    tokens, kept = verdict.tokens, verdict.num_accepted
    kinds = type(tokens), {type(kept), *map(type, tokens)}, type(verdict.rejected)
    plain = kinds == (tuple, {int}, bool)
    require(plain, f"the verdict {verdict} has other things than a tuple of ints, an int and a bool; numpy's are none")
    require(len(tokens) == kept + 1, f"{kept} accepted drafts came with {len(tokens)} tokens; there is one more")
    here, nodes = [ROOT], list(enumerate(zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True)))
    for token in tokens[:kept]:
        here = [node for node, (draft, parent) in nodes if draft == token and parent in here]
        require(bool(here), f"the accepted tokens {tokens[:kept]} are no path of the proposal")
    if is_chain(proposal):
        said = kept < len(proposal)
        require(verdict.rejected == said, f"rejected is {verdict.rejected} with {kept} of {len(proposal)} drafts kept")
    chance = float(rows[1 + here[0]][tokens[-1]])
    require(chance > 0, f"the last token {tokens[-1]} has probability 0 under the target")
