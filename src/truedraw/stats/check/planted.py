"""Known ways to lose exactness, planted on purpose: each is token-wise verification with one piece replaced.

A bug is written as the chance to keep each drafted token, the weights of the correction and those of the bonus token,
so that its law at a place follows in closed form, and with it its total variation from p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truedraw.protocol import ROOT, Floats, Proposal, Purpose, Randomness, Rows, Verdict
from truedraw.sampling.law import one_hot
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.stats.check.drawing import Note
from truedraw.stats.check.self_draft import sharpened
from truedraw.verify.proposals import written_out
from truedraw.verify.token import residual

Keeps = Callable[[Floats, Floats | None], Floats]  # (p, q) -> chance to keep each token [vocab]; q None = certain
Corrects = Callable[[Floats, Floats | None, Floats], Floats]
"""(p, q, mass of each rejected token [vocab]) -> mass of each correction [vocab], of the same sum."""


def kept(p: Floats, q: Floats | None) -> Floats:
    """min(1, p / q): what is right."""
    return kept_often(p, q, 1.0)


def kept_often(p: Floats, q: Floats | None, lenience: float) -> Floats:
    """min(1, l p / q)."""
    if q is None:
        return np.minimum(1.0, lenience * p)
    return np.minimum(1.0, np.divide(lenience * p, q, out=np.ones_like(p), where=q > 0))


def flattened(law: Floats) -> Floats:
    """The law at twice its temperature."""
    return np.asarray(law**0.5 / float((law**0.5).sum()))


def corrected(p: Floats, q: Floats | None, rejected: Floats) -> Floats:
    """norm((p - q)+) whatever was rejected; a certain draft is a point mass: what is right."""
    left = residual(p, q, int(rejected.argmax()))
    return np.asarray(left * (rejected.sum() / left.sum()))


def from_p(p: Floats, _q: Floats | None, rejected: Floats) -> Floats:
    """p itself."""
    return np.asarray(p * rejected.sum())


def without_the_token(p: Floats, _q: Floats | None, rejected: Floats) -> Floats:
    """p without the rejected token: right for certain drafts alone."""
    share = np.divide(rejected, 1 - p, out=np.zeros_like(p), where=p < 1)
    return np.asarray(p * share.sum() - p * share)


@dataclass(frozen=True, slots=True)
class Bug:
    """One change. `certain`: it concerns drafts without a law. `shared`: all samples draw the same numbers.

    `later`: the chance to keep each token as a sibling behind others, from what they left of p; right is just that. A
    bug of it needs `siblings`.
    """

    name: str
    keeps: Keeps = kept
    corrects: Corrects = corrected
    bonus: Callable[[Floats], Floats] = np.asarray
    later: Callable[[Floats], Floats] = np.asarray
    siblings: bool = False
    certain: bool = False
    shared: bool = False

    def chance(self, seed: int, sample: int) -> Randomness:
        """The noise of a sample."""
        return PhiloxRandomness(seed, 0 if self.shared else sample)

    def distance(self, p: Floats, note: Note | None) -> float:
        """Total variation between p [vocab] and what is emitted here; for shared noise, of a pair of samples."""
        if self.shared:
            return 1.0 - float(p @ p)
        if note is None:
            return _distance(self.bonus(p), p)
        q = _q(note)
        drafted = one_hot(note.token, p.size) if q is None else q
        keeps = drafted * self.keeps(p, q)
        left = self.corrects(p, q, drafted - keeps)
        for token in note.others:
            mass = float(left.sum())
            law = normalised(left, p)
            keeps[token] += (here := mass * float(self.later(law)[token]))
            left = normalised(residual(law, None, token), law) * (mass - here)
        return _distance(keeps + left, p)


def normalised(left: Floats, law: Floats) -> Floats:
    """What is left of a law, as one; where that is nothing, a bug has come where no right rule would, and it stays."""
    return left / left.sum() if left.any() else law


class PlantedVerifier:
    """protocol.Verifier of chains, and of siblings that are all certain, with a bug."""

    exact: ClassVar[bool] = False
    coupled: ClassVar[bool] = False

    def __init__(self, bug: Bug) -> None:
        self._bug = bug

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """As TokenVerifier, but for the bug."""
        done: tuple[int, ...] = ()
        here = ROOT
        while (siblings := np.flatnonzero(proposal.parents == here)).size:
            p = rows[1 + here]
            for node in siblings.tolist():
                token, q = int(proposal.tokens[node]), written_out(proposal.laws[node])
                chance = self._bug.later(p) if node > siblings[0] else self._bug.keeps(p, q)
                if randomness.accept(float(chance[token]), 1.0, Purpose.ACCEPT, position, node):
                    break
                first = node == siblings[0]
                left = self._bug.corrects(p, q, one_hot(token, p.size)) if first else residual(p, None, token)
                p = normalised(left, p)
            else:
                return Verdict((*done, randomness.choose(p, Purpose.RESIDUAL, position, node)), len(done), True)
            done, here = (*done, token), node
        weights = self._bug.bonus(rows[1 + here])
        return Verdict((*done, randomness.choose(weights, Purpose.RESIDUAL, position, len(done))), len(done), False)


BUGS = (
    Bug("correction drawn from p", corrects=from_p),
    Bug("draft kept where it is the argmax", keeps=lambda p, _q: one_hot(int(p.argmax()), p.size)),
    Bug("certain draft with a softmax law", keeps=lambda p, _q: np.ones_like(p), certain=True),
    Bug("bonus row at half the temperature", bonus=sharpened, certain=True),
    Bug("samples share noise", shared=True),
    Bug("correction forgets only the token", corrects=without_the_token),
    Bug("draft kept twice too often", keeps=lambda p, q: kept_often(p, q, 2.0)),
    Bug("q taken before its temperature", keeps=lambda p, q: kept(p, None if q is None else flattened(q))),
    Bug("later sibling kept twice too often", later=lambda r: np.minimum(1.0, 2 * r), siblings=True, certain=True),
    Bug("draft kept 2 % too often", keeps=lambda p, q: kept_often(p, q, 1.02)),
)
"""Those that a quick check plants come first; the last one is so small that enumeration alone sees it."""


def _q(note: Note) -> Floats | None:
    if note.log_q is None:
        return None
    q = np.exp(note.log_q.astype(np.float64))
    return np.asarray(q / q.sum())


def _distance(weights: Floats, p: Floats) -> float:
    return float(np.abs(weights / weights.sum() - p).sum()) / 2
