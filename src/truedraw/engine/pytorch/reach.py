"""How far into a text the masks of a batch are those of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NEAR = ("sliding", "chunked", "local")  # kinds of layers that do not see all that is before them
MASK_AXES = 4  # texts, heads, rows, slots
OF_LAYERS = ("pattern", "layers")  # settings with these in their names count layers, not tokens
SPARSE = ("index_topk", "keep_window_size")
"""How many rows are seen of those that a layer chooses: which they are can depend on rows behind."""
POSITIONS = "position_embeddings"  # what tables of positions are called
BY_SLOT = "attn_temperature_tuning"  # queries are scaled by their slots in the cache, whatever their positions are


def reach(model: Any, context_length: int) -> int:
    """Tokens of a text within which every layer sees all that is before it.

    The batch's masks know no windows, and within the first window there is none to know. A model that lays a window
    over the slots of the cache itself, or counts by them, whatever it is told of positions, has a reach of 0.
    """
    config = model.config.get_text_config()
    settings = _settings(config)
    if any(each.get(BY_SLOT) for each in settings):
        return 0
    window = _window(config, settings)
    if window is None:
        return context_length
    return 0 if _has_masks(model) else min(window, context_length)


def places(model: Any, context_length: int) -> int:
    """Tokens of a text that a table of positions has rows for: in some they begin behind the row of the padding."""
    from torch.nn import Embedding

    found = (each for name, each in model.named_modules() if name.endswith(POSITIONS) and isinstance(each, Embedding))
    ends = [int(each.num_embeddings) - int(each.padding_idx) - 1 for each in found if each.padding_idx is not None]
    return min([context_length, *ends])


def is_sparse(model: Any) -> bool:
    """Whether layers choose the rows that they see: a row may be another one where rows stand behind it."""
    settings = _settings(model.config.get_text_config())
    return any(isinstance(each.get(name), int) for each in settings for name in SPARSE)


def _settings(config: Any) -> list[dict[str, Any]]:
    """Those of the whole model, then those of each layer that has some of its own."""
    whole = config.to_dict()
    own = whole.pop("per_layer_config", None) or {}
    return [whole, *({**whole, **each} for each in own.values())]


def _window(config: Any, settings: list[dict[str, Any]]) -> int | None:
    """The smallest one; None where there is none. A number that is taken for one and is none only costs time."""
    kinds = getattr(config, "layer_types", None)
    if kinds and not any(kind.startswith(NEAR) for kind in kinds):
        return None
    return min((window for each in settings for window in _windows(each)), default=None)


def _windows(settings: dict[str, Any]) -> Iterator[int]:
    for name, value in settings.items():
        named = "window" in name and not any(word in name for word in OF_LAYERS)
        if name == "sliding_window" and not settings.get("use_sliding_window", True):
            named = False
        if (
            (named or name in ("attention_chunk_size", *SPARSE))
            and isinstance(value, int)
            and value > 0
            and value is not True
        ):
            yield value


def _has_masks(model: Any) -> bool:
    """Tables of what sees what, made when the model was."""
    import torch

    return any(table.dtype == torch.bool and table.ndim == MASK_AXES for table in model.buffers())
