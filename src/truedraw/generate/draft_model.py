"""The models that draft for one target: each is opened when it is first asked for, and closed with the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadParameter
from truedraw.protocol import Engine
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.generate.model import Model


class DraftModels:
    """For the target `name` with this tokenizer and `vocab_size` rows; `options` as the target was opened with."""

    def __init__(
        self, name: str, tokenizer: Tokenizer, vocab_size: int, options: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.tokenizer, self.vocab_size = name, tokenizer, vocab_size
        self.options: Mapping[str, Any] = options or {}
        self._open: dict[str, Model] = {}

    def engine(self, name: str) -> Engine:
        """The engine of the model of this name, as `load` knows it.

        Raises what `load` raises, and BadParameter where its token ids stand for something else than the target's.
        """
        if name not in self._open:
            from truedraw.generate.loading import open_model

            model = open_model(name, **self.options)
            self._check(model)
            self._open[name] = model
        return self._open[name].engine

    def close(self) -> None:
        """Free every draft model."""
        while self._open:
            self._open.popitem()[1].close()

    def _check(self, model: Model) -> None:
        if not self.tokenizer.same_ids(model.tokenizer):
            model.close()
            raise BadParameter(
                "model",
                f"the vocabulary of {model.name} is not that of {self.name}: the same ids stand for other tokens; "
                "a draft model needs the target's own tokenizer, take a smaller model of the same family",
            )
