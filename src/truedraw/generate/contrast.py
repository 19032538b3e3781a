"""Two loaded models as one whose law is their contrast (engine/contrastive.py says which law that is)."""

from __future__ import annotations

from pathlib import Path

from truedraw.engine.contrastive import ALPHA, BETA, ContrastiveEngine, check_strength
from truedraw.errors import BadParameter
from truedraw.generate.model import Model
from truedraw.sampling.values import shown


def contrast(
    expert: Model, amateur: Model, alpha: float = ALPHA, beta: float = BETA, *, name: str | None = None
) -> Model:
    """A model with the expert's name, text and defaults; closing it closes both.

    The amateur is a smaller or otherwise worse model, and can draft, too: by `name`, its own where none is given, and
    wherever a method drafts with a model and none is named. Raises BadParameter where the ids of the two mean other
    tokens, or the amateur has no rows for some.
    """
    if wrong := _mismatch(expert, amateur):
        amateur.close()
        raise BadParameter("amateur", wrong)
    engine = ContrastiveEngine(expert.engine, amateur.engine, alpha, beta)
    whole = Model(expert.name, engine, expert.tokenizer, expert.defaults)
    whole.drafts.files = expert.drafts.files
    whole.drafts.lent.add(name or amateur.name, Model(amateur.name, engine.drafting, amateur.tokenizer))
    return whole


def _mismatch(expert: Model, amateur: Model) -> str | None:
    """What the two do not share that they have to."""
    if not expert.tokenizer.same_ids(amateur.tokenizer):
        return f"the vocabulary of {amateur.name} is not that of {expert.name}; take a model of the same family"
    lacking = min(expert.engine.vocab_size, expert.tokenizer.vocab_size) - amateur.engine.vocab_size
    if lacking > 0:
        return f"{amateur.name} has no rows for the last {lacking} tokens of {expert.name}; take a model that has all"
    return None


def check_contrast(amateur: str | Path | None, alpha: float | None, beta: float | None) -> tuple[float, float]:
    """Alpha and beta, by default those of the papers; raises BadParameter, also where they are given for nothing."""
    for name, value in (("contrastive_alpha", alpha), ("contrastive_beta", beta)):
        if value is not None and amateur is None:
            raise BadParameter(name, f"got {shown(value)}, but no amateur to contrast with; name one")
    strength = ALPHA if alpha is None else alpha, BETA if beta is None else beta
    check_strength(*strength)
    return strength
