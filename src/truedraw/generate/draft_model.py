"""The models that draft for one target: each is opened when it is first asked for, and closed with the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.draft.eagle.checkpoint import is_eagle
from truedraw.draft.eagle.opening import Eagle, open_eagle
from truedraw.draft.head.opening import Head, open_head
from truedraw.draft.head.refit.file import check_saved, refit_of, write_refitted
from truedraw.draft.head.refit.learning import Learnt, Refit
from truedraw.draft.head_ngram_weights import Weights
from truedraw.draft.quantised_self import REFERENCE
from truedraw.draft.siblings import Siblings
from truedraw.draft.site import OpenModel
from truedraw.draft.tempering import Tempering
from truedraw.engine.cache_use import forget_closed
from truedraw.errors import BadParameter
from truedraw.generate.draft_choice import auto_sources, eagle_folder, head_file, mtp_folder, own_methods
from truedraw.generate.lent import Lent
from truedraw.generate.lore import recalled
from truedraw.generate.seeds import Seeds
from truedraw.protocol import Engine
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.generate.model import Model

PYTORCH = "pytorch"
FAST = "invariant"  # the arithmetic of copies: the engine takes whatever suits their weights


class DraftModels:
    """For the target `name` with this tokenizer and so many rows; `target` is its engine, parts of which may draft."""

    def __init__(self, name: str, tokenizer: Tokenizer, vocab_size: int, target: Engine | None = None) -> None:
        self.name, self.tokenizer, self.vocab_size = name, tokenizer, vocab_size
        self.target = target
        self.options: Mapping[str, Any] = {}  # that the target was opened with
        self.files: Path | None = None  # that the target was opened from; None: its name is all that is known
        self._open: dict[tuple[Any, ...], Model] = {}
        self.lent = Lent()
        self.seeds = Seeds()
        self._temperings: dict[str, Tempering] = {}
        self._siblings: dict[tuple[str, bool], Siblings] = {}
        self._blendings: dict[str, Weights] = {}
        self.head_path: Path | None = None
        self._heads: dict[Path, Head] = {}
        self._refits: dict[Path, Refit] = {}
        self._eagles: dict[Path, Eagle] = {}

    @cached_property
    def auto_sources(self) -> tuple[str, ...]:
        """What the method auto drafts with unless it is told: by the draft that the target was loaded for."""
        return auto_sources(self.head_path)

    @property
    def own_methods(self) -> tuple[str, ...]:
        """What draws from the draft that the target was loaded for."""
        return own_methods(self.head_path)

    def engine(self, name: str) -> Engine:
        """The engine of the model of this name, as `load` knows it.

        Raises what `load` raises, and BadParameter where its token ids stand for something else than the target's.
        """
        model = self._alike(name)
        if model is None:
            raise BadParameter(
                "model",
                f"the vocabulary of {name} is not that of {self.name}: the same ids stand for other tokens; "
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
        if self.options.get("engine") == PYTORCH:
            raise BadParameter("method", f"the engine {PYTORCH} keeps the file's own weights; a copy drafts no sooner")
        wanted = {"weights": weights, "numerics": FAST}
        if self.options.get("weights") == weights and self.options.get("numerics") != REFERENCE:
            raise BadParameter("method", f"{self.name} has {weights} weights already; a copy of it drafts no sooner")
        try:
            model = self._alike(self.files or self.name, **wanted)
        except BadParameter as error:
            raise BadParameter("method", f"{self.name} cannot draft for itself with other weights; {error}") from error
        if model is None:
            raise BadParameter("method", f"the files of {self.name} hold another model by now; load it again")
        return model.engine

    def tempering(self, drafter: str) -> Tempering:
        """What is known of the temperature of a drafter's law, by its name: runs learn from one another."""
        return recalled(self._temperings, drafter, Tempering)

    def siblings(self, drafter: tuple[str, bool], first: Sequence[float]) -> Siblings:
        """What is known of a drafter's candidates, by its name and whether the rule is coupled; see draft.siblings."""
        return recalled(self._siblings, drafter, lambda: Siblings(first))

    def blending(self, drafter: str) -> Weights:
        """What is known of the weights of two laws that a drafter mixes, by its name."""
        return recalled(self._blendings, drafter, Weights)

    def eagle(self, path: str | Path | None) -> Eagle:
        """See Models; each is opened once."""
        return self._layer(eagle_folder(path, self.head_path, self))

    def mtp(self) -> Eagle:
        """See Models."""
        return self._layer(mtp_folder(self.head_path, self))

    def _layer(self, folder: Path) -> Eagle:
        if folder not in self._eagles:
            self._eagles[folder] = open_eagle(folder, self, self.options.get("threads"))
        return self._eagles[folder]

    def prepare(self, threads: int | None) -> None:
        """Compile what the head that the target was loaded for drafts by; what is wrong is said once it drafts."""
        if self.head_path is not None and not is_eagle(self.head_path):
            with suppress(Exception):
                open_head(self.head_path, self, threads)

    def head(self, path: str | Path | None) -> Head:
        """See Models; each is opened once."""
        file = self._head_file(path)
        if file not in self._heads:
            self._heads[file] = open_head(file, self, self.options.get("threads"))
        return self._heads[file]

    def refit(self, path: str | Path | None) -> Refit:
        """See Models."""
        head, file = self.head(path), self._head_file(path)
        assert head.card is not None
        if file not in self._refits:
            self._refits[file] = refit_of(head.cell, head.card)
        return self._refits[file]

    def save_refit(self, path: Path, head: str | Path | None = None) -> Learnt:
        """Write a head with what was learnt on top of it.

        head: None is the only one that learnt, or else the one that the target was loaded for. Raises BadParameter
        where nothing that helps was learnt, and BadFile where something else than a head stands at `path`.
        """
        file = next(iter(self._refits)) if head is None and len(self._refits) == 1 else self._head_file(head)
        check_saved(file, path)
        found = self._refits.get(file)
        if found is None or not found.helps:
            said = f"learnt from {found.learnt.places} drafts and keeps no more" if found else "was not refitted"
            raise BadParameter("refit", f'{file} {said}; write more text with {{"method": "head", "refit": true}}')
        card = self._heads[file].card
        assert card is not None
        write_refitted(file, card, path, found)
        return found.learnt

    def _head_file(self, path: str | Path | None) -> Path:
        """Raises BadParameter."""
        return head_file(path, self.head_path, self)

    def forget_closed(self) -> None:
        """Keep nothing of texts that are closed, in any of those that are opened here."""
        for model in self._open.values():
            forget_closed(model.engine)

    def close(self) -> None:
        """Free every draft model."""
        while self._open:
            self._open.popitem()[1].close()

    def _alike(self, name: str | Path, **changes: Any) -> Model | None:
        """None where its ids stand for other tokens than the target's; opened for this alone, it is closed then."""
        key = (name, *changes.values())
        known, model = key in self._open, self._model(name, **changes)
        if self.tokenizer.same_ids(model.tokenizer):
            return model
        if not known and key in self._open:
            self._open.pop(key).close()
        return None

    def _model(self, name: str | Path, **changes: Any) -> Model:
        lent = None if changes else self.lent.find(str(name))
        if lent is not None:
            return lent
        key = (name, *changes.values())
        if key not in self._open:
            from truedraw.generate.loading import open_model

            self._open[key] = open_model(name, **{**self.options, **changes})
        return self._open[key]
