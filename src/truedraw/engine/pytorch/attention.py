"""Is eager attention what transformers computes by itself? Asked at loading; where it is not, that one is taken.

An architecture has several forms of attention, and one of them may be wrong (of Falcon's with ALiBi in transformers
5.24 the eager one is). Whoever compares with transformers compares with what it takes unless it is told otherwise.
"""

from __future__ import annotations

from typing import Any

from truedraw.engine.pytorch.asking import reason
from truedraw.engine.pytorch.loading import EAGER, load_model
from truedraw.engine.pytorch.network import Network
from truedraw.engine.pytorch.probe import close, last_rows
from truedraw.engine.pytorch.running import quiet
from truedraw.errors import UnsupportedModel
from truedraw.models import Checkpoint
from truedraw.protocol import Logits


def as_usual(checkpoint: Checkpoint, model: Any) -> tuple[Any, bool]:
    """The eager model, or one with transformers' own attention where its laws are others; and whether it is eager.

    Raises UnsupportedModel where transformers has made a model of the files that it cannot run.
    """
    eager, length = _eager_rows(checkpoint, model), checkpoint.config.context_length
    if checkpoint.kind != "huggingface" or (usual := _usual(model)) == EAGER:
        return model, True
    if not model._can_set_attn_implementation():
        other = load_model(checkpoint, usual)
        return (model, True) if close(eager, last_rows(Network(other), length)) else (other, False)
    with quiet():
        model.set_attn_implementation(usual)
    if not close(eager, last_rows(Network(model), length)):
        return model, False
    model.set_attn_implementation(EAGER)
    return model, True


def _eager_rows(checkpoint: Checkpoint, model: Any) -> Logits:
    import torch

    try:
        return last_rows(Network(model), checkpoint.config.context_length)
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # whatever a layer does with sizes that it was not made for
        raise UnsupportedModel(f"transformers cannot run {checkpoint.path}: {reason(error)}") from error


def _usual(model: Any) -> str:
    with quiet():
        return str(model.get_correct_attn_implementation(None))
