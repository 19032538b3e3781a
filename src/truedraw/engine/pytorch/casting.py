"""A model of transformers in another type and place."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

from truedraw.engine.pytorch.asking import reason
from truedraw.engine.pytorch.options import Options
from truedraw.engine.pytorch.running import quiet
from truedraw.errors import BadParameter


def cast(model: Any, options: Options, run: Callable[[], object]) -> None:
    """To the dtype and the device of `options`; `run` computes a few rows of it.

    Tables, of positions for instance, stay as exact as they are; where a model cannot be run so, they get the types
    that they have in transformers. Raises BadParameter where it cannot be run then either.
    """
    import torch

    dtype = getattr(torch, options.dtype)
    cast_weights(model, dtype).to(options.device)
    if dtype == torch.float32 or _failure(run) is None:
        return
    error = _failure(partial(_cast_tables, model, dtype)) or _failure(run)
    if error is not None:
        raise BadParameter(
            "dtype",
            f"a {type(model).__name__} of transformers cannot be run in {options.dtype} on {options.device} "
            f"({reason(error)}); give float32, which every model runs in",
        ) from error


def cast_weights(model: Any, dtype: Any) -> Any:
    """The model, whose tables stay as exact as they are."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype)
    return model


def _failure(run: Callable[[], object]) -> Exception | None:
    import torch

    try:
        run()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever the layers of a model do with types that they were not made for
        return error
    return None


def _cast_tables(model: Any, dtype: Any) -> None:
    """As in a model that transformers makes of the same settings in that type, here without numbers."""
    import torch

    with quiet(), torch.device("meta"):
        twin = type(model)._from_config(deepcopy(model.config), dtype=dtype)
    types = {name: table.dtype for name, table in twin.named_buffers()}
    for name, table in model.named_buffers():
        table.data = table.data.to(types.get(name, table.dtype))
