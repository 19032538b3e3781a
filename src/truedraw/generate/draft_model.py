"""The models that draft for one target: each is opened when it is first asked for, and closed with the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from truedraw.draft.site import OpenModel
from truedraw.errors import BadParameter
from truedraw.protocol import Engine
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.generate.model import Model

FAST = "invariant"  # the arithmetic of drafts


class DraftModels:
    """For the target `name` with this tokenizer and `vocab_size` rows; `options` as the target was opened with.

    `target` is its engine, where parts of it may draft.
    """

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        vocab_size: int,
        options: Mapping[str, Any] | None = None,
        target: Engine | None = None,
    ) -> None:
        self.name, self.tokenizer, self.vocab_size = name, tokenizer, vocab_size
        self.options: Mapping[str, Any] = options or {}
        self.target = target
        self._open: dict[tuple[Any, ...], Model] = {}
        self._lent: dict[str, Model] = {}

    def engine(self, name: str) -> Engine:
        """The engine of the model of this name, as `load` knows it.

        Raises what `load` raises, and BadParameter where its token ids stand for something else than the target's.
        """
        known = (name,) in self._open
        model = self._model(name)
        if not self.tokenizer.same_ids(model.tokenizer):
            if not known:
                self._open.pop((name,)).close()
            raise BadParameter(
                "model",
                f"the vocabulary of {model.name} is not that of {self.name}: the same ids stand for other tokens; "
                "take a smaller model of the same family, whose tokenizer is the target's own",
            )
        return model.engine

    def any(self, name: str) -> OpenModel:
        """A model with whatever tokenizer; raises what `load` raises."""
        model = self._model(name)
        return OpenModel(model.engine, model.tokenizer)

    def copy(self, weights: str) -> Engine:
        """The target's own checkpoint once more with weights "int4" or "int8", in the fast arithmetic.

        Raises BadParameter where it cannot be opened like that, or is already.
        """
        wanted = {"weights": weights, "numerics": FAST}
        if all(self.options.get(name) == value for name, value in wanted.items()):
            raise BadParameter("method", f"{self.name} has {weights} weights already; a copy of it drafts no sooner")
        try:
            return self._model(self.name, **wanted).engine
        except BadParameter as error:
            raise BadParameter("method", f"{self.name} cannot draft for itself with other weights; {error}") from error

    def lend(self, name: str, model: Model) -> None:
        """Let a model that is open anyway, and that somebody else closes, draft under this name."""
        self._lent[name] = model

    def close(self) -> None:
        """Free every draft model."""
        while self._open:
            self._open.popitem()[1].close()

    def _model(self, name: str, **changes: Any) -> Model:
        if not changes and name in self._lent:
            return self._lent[name]
        key = (name, *changes.values())
        if key not in self._open:
            from truedraw.generate.loading import open_model

            self._open[key] = open_model(name, **{**self.options, **changes})
        return self._open[key]
