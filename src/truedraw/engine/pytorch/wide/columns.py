"""Keys and values of a batch whose texts grow together: one place for each text and column, taken once."""

from __future__ import annotations

from typing import Any

Tensor = Any  # torch.Tensor


class Where:
    """Which texts a pass is of, all or a part, and how many columns stand before it."""

    def __init__(self, texts: int, columns: int) -> None:
        self.texts, self.columns = texts, columns
        self.part, self.at = slice(0, texts), 0


def columns_of(where: Where, num_layers: int) -> Any:
    """A cache of transformers over such places."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    class Column(DynamicLayer):  # type: ignore[misc, unused-ignore]
        """A layer's."""

        keys: Tensor = None
        values: Tensor = None

        def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
            """See CacheLayerMixin."""
            if self.keys is None:
                self.keys, self.values = (
                    like.new_zeros(where.texts, like.shape[1], where.columns, like.shape[3]) for like in (keys, values)
                )
                self.is_initialized = True
            end = where.at + keys.shape[2]
            self.keys[where.part, :, where.at : end] = keys
            self.values[where.part, :, where.at : end] = values
            return self.keys[where.part, :, :end], self.values[where.part, :, :end]

        def get_seq_length(self, *_: Any, **__: Any) -> int:
            """See CacheLayerMixin."""
            return where.at

        def only(self, texts: Tensor) -> None:
            """Forget all others."""
            self.keys, self.values = self.keys.index_select(0, texts), self.values.index_select(0, texts)

    cache = DynamicCache()
    cache.layers = [Column() for _ in range(num_layers)]
    return cache


def keep(cache: Any, where: Where, texts: Tensor) -> None:
    """Only these texts [n], from now on."""
    for layer in cache.layers:
        layer.only(texts)
    where.texts, where.part = len(texts), slice(0, len(texts))
