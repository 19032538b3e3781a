"""A text in a draft model's cache: opened when it is first drafted for, shared by the samples of one prompt."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Protocol

from truedraw.draft.vocabulary import SameTokens, Vocabulary
from truedraw.errors import OutOfPages
from truedraw.protocol import Engine, Sequence


class Text(Protocol):
    """One sample's text as a draft reads it: `tokens` are the target's, rows those of what drafts."""

    tokens: list[int]

    def append(self, tokens: Seq[int]) -> None:
        """The text goes on."""
        ...

    def ids(self, tokens: Seq[int]) -> Seq[int]:
        """What the draft model reads where the target reads `tokens`."""
        ...

    def room(self, behind: int) -> int:
        """How many tokens can be drafted behind the text and `behind` further rows."""
        ...

    def sequence(self) -> Sequence | None:
        """The text in the cache, None where it finds no room there."""
        ...

    def begun(self) -> None:
        """All that begin in this round have begun."""
        ...

    def close(self) -> None:
        """Give the pages back; the text can still go on."""
        ...


class SharedPrompt:
    """The text that some samples start from: computed once for all that begin together, whose pages it then shares.

    `tokens` are the target's, `ids` what the draft model reads.
    """

    def __init__(self, engine: Engine, tokens: Seq[int], vocabulary: Vocabulary | None = None) -> None:
        self.engine, self.tokens = engine, tuple(tokens)
        self.vocabulary = vocabulary or SameTokens(engine.vocab_size)
        self.ids = tuple(self.vocabulary.opening(self.tokens))
        self._sequence: Sequence | None = None

    def fork(self) -> Sequence:
        """One more text equal to the prompt; raises OutOfPages."""
        if self._sequence is None:
            self._sequence = self.engine.open(self.ids)
        return self.engine.fork(self._sequence, 1)[0]

    def close(self) -> None:
        """Give the prompt's own hold on the pages back; who comes later opens it again."""
        if self._sequence is not None:
            self._sequence.close()
            self._sequence = None


class CachedText:
    """One sample's text. It may outgrow the draft model: then there is nothing to draft with any more.

    `tokens` are the target's; rows are those of the draft model's own ids.
    """

    def __init__(self, prompt: SharedPrompt) -> None:
        self._prompt, self._engine = prompt, prompt.engine
        self.tokens, self._ids = list(prompt.tokens), list(prompt.ids)
        self._sequence: Sequence | None = None
        self._known = self._all_known(self._ids)

    def append(self, tokens: Seq[int]) -> None:
        """The text goes on."""
        ids = self.ids(tokens)
        self.tokens.extend(tokens)
        self._ids.extend(ids)
        self._known = self._known and self._all_known(ids)
        if self.room(0) <= 0:
            self.close()
        elif self._sequence is not None:
            self._sequence.commit(ids)

    def ids(self, tokens: Seq[int]) -> Seq[int]:
        """What the draft model reads where the target reads `tokens`."""
        return self._prompt.vocabulary.ids(tokens)

    def room(self, behind: int) -> int:
        """How many tokens can be drafted behind the text and `behind` further rows: the last one is never fed."""
        return self._engine.context_length - len(self._ids) - behind + 1 if self._known else 0

    def sequence(self) -> Sequence | None:
        """The text in the cache, None where it finds no room there."""
        if self._sequence is None:
            try:
                self._sequence = self._prompt.fork()
            except OutOfPages:
                return None
            self._sequence.commit(self._ids[len(self._prompt.ids) :])
        return self._sequence

    def begun(self) -> None:
        """All that begin now have begun: a page that only this text holds need not be copied to be written."""
        self._prompt.close()

    def close(self) -> None:
        """Give the pages back."""
        self._prompt.close()
        if self._sequence is not None:
            self._sequence.close()
            self._sequence = None

    def _all_known(self, ids: Seq[int]) -> bool:
        """A model can have fewer rows than the target: an id that no text of its tokenizer has may lie beyond them."""
        return all(each < self._engine.vocab_size for each in ids)
