"""The models that draft for one target: each is opened when it is first asked for, and closed with the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truedraw.draft.head.opening import Head, open_head
from truedraw.draft.siblings import Siblings
from truedraw.draft.site import OpenModel
from truedraw.draft.tempering import Tempering
from truedraw.errors import BadParameter
from truedraw.protocol import Engine
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.generate.model import Model

FAST = "invariant"  # the arithmetic of drafts
MOST_DRAFTERS = 64  # drafters remembered; a further one pushes out the oldest

Name = TypeVar("Name")
Lore = TypeVar("Lore")


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
        self._temperings: dict[str, Tempering] = {}
        self._siblings: dict[tuple[str, bool], Siblings] = {}
        self.head_path: Path | None = None
        self._heads: dict[Path, Head] = {}

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

    def tempering(self, drafter: str) -> Tempering:
        """What is known of the temperature of a drafter's law, by its name: runs learn from one another."""
        return recalled(self._temperings, drafter, Tempering)

    def siblings(self, drafter: tuple[str, bool], first: Sequence[float]) -> Siblings:
        """What is known of a drafter's candidates, by its name and whether the rule is coupled; see draft.siblings."""
        return recalled(self._siblings, drafter, lambda: Siblings(first))

    def head(self, path: str | Path | None) -> Head:
        """See Models; each is opened once."""
        if not isinstance(path, str | Path | None):
            raise BadParameter("head_path", f"got {path!r:.60}; give a file of `truedraw train draft`")
        chosen = path or self.head_path
        if chosen is None:
            raise BadParameter(
                "method",
                f"{self.name} was not loaded for a draft head; `truedraw train draft` makes one, to be named in draft",
            )
        file = Path(chosen).expanduser()
        if file not in self._heads:
            self._heads[file] = open_head(file, self, self.options.get("threads"))
        return self._heads[file]

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


def recalled(known: dict[Name, Lore], name: Name, new: Callable[[], Lore]) -> Lore:
    """What is known under a name, something new the first time."""
    if name not in known:
        while len(known) >= MOST_DRAFTERS:
            del known[next(iter(known))]
        known[name] = new()
    return known[name]
