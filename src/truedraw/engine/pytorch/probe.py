"""Does a batch with padding, masks and a cache compute what the model computes of each text alone? Asked at loading.

It does for models whose layers mix rows by attention alone and that take positions and masks as they are given. It
does not for recurrent layers, for positions counted by slot or from the mask (ALiBi), or for masks of the model's own.
"""

from __future__ import annotations

import numpy as np

from truedraw.engine.meaningless import meaningless
from truedraw.engine.pytorch.network import Network
from truedraw.engine.pytorch.parts import Part
from truedraw.engine.pytorch.passes import CachedPasses, ReplayedPasses
from truedraw.engine.pytorch.sequence import TorchSequence
from truedraw.engine.texts import Limits
from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.protocol import ROOT, Logits, Proposal

LONG, SHORT, HELD = 12, 5, 7  # tokens of two texts, and those of the first that are computed ahead
ROOM = LONG + 2  # tokens of context that the probe takes
FEW = 4  # tokens that tell one form of attention from another
CLOSE = 1e-4  # of the spread of a row's logits: float32 keeps to about a hundredth of it


def looks_at_length(network: Network, vocab_size: int, context_length: int) -> bool:
    """Whether a row depends on how long its text is.

    Raises UnsupportedModel where it depends on what stands behind it: there is nothing to draw from then; BadModelFile
    where it is no number.
    """
    text = meaningless(min(ROOM, context_length), vocab_size).tolist()
    whole, alone = network.text(text, len(text)).logits[:1], network.text(text[:1], 1).logits
    if np.isnan(alone).any() or np.isposinf(alone).any():
        raise BadModelFile("the logits of this model are no numbers, as those of damaged weights; fetch it again")
    if close(whole, alone):
        return False
    other = [text[0], *((token + 1) % vocab_size for token in text[1:])]
    if not close(whole, network.text(other, len(text)).logits[:1]):
        raise UnsupportedModel(
            "each row of this model depends on the tokens behind it, as in BERT and its like; only models that read "
            "from left to right can be drawn from (for some, is_decoder in config.json says so)"
        )
    return True


def last_rows(network: Network, context_length: int) -> Logits:
    """Of a short text, [tokens, vocab]."""
    count, vocab_size = min(FEW, context_length), network.text([0], 1).logits.shape[1]
    return network.text(meaningless(count, vocab_size).tolist(), count).logits


def close(found: Logits, expected: Logits) -> bool:
    """But for rounding."""
    return bool(np.abs(found - expected).max() <= CLOSE * expected.std())


def batches_hold(network: Network, vocab_size: int, context_length: int) -> tuple[bool, int]:
    """Whether they do, in float32, and the bytes that a row then takes (0 where they do not)."""
    if context_length < ROOM or not network.takes_batches:
        return False, 0
    limits = Limits(vocab_size, context_length)
    long, short = (TorchSequence(meaningless(count, vocab_size).tolist(), limits) for count in (LONG, SHORT))
    parts = [Part(short, SHORT), Part(long, LONG, _tree(vocab_size))]
    try:
        CachedPasses(network).run([Part(long, HELD, scored=False)])
        found = CachedPasses(network).run(parts)
    except Exception:  # whatever a model does with arguments that it was not made for
        return False, 0
    row_bytes = long.kept.row_bytes if long.kept is not None else 0
    expected = ReplayedPasses(network).run(parts)
    equal = all(
        one is not None and other is not None and close(one.logits, other.logits)
        for one, other in zip(found, expected, strict=True)
    )
    return equal, row_bytes if equal else 0


def compute_some(network: Network, context_length: int, *, batched: bool) -> None:
    """A few rows, in each way in which the engine would; raises whatever torch does."""
    vocab_size = last_rows(network, context_length).shape[1]
    if batched:
        text = TorchSequence(meaningless(FEW, vocab_size).tolist(), Limits(vocab_size, context_length))
        CachedPasses(network).run([Part(text, FEW)])


def _tree(vocab_size: int) -> Proposal:
    """Two siblings and a child of the first, the second standing between."""
    return Proposal(np.array([3, 5, 7]) % vocab_size, np.array([ROOT, ROOT, 0]), (None,) * 3)
