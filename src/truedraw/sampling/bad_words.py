"""bad_words: sequences of tokens that the text never comes to hold. The last token of a sequence is impossible where
the tokens before it stand; a sequence of one token is impossible everywhere.

As in Hugging Face (bad_words_ids) the beginning may stand in the prompt. A word given as a string is forbidden in two
spellings, as it begins a text and as it follows a space, like in vLLM; other ways to spell it in tokens remain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import Floats
from truedraw.sampling.edits import UNEDITED, Edits
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import Opening, Step
from truedraw.sampling.values import shown

Ids = tuple[int, ...]
NAME = "bad_words"


@dataclass(frozen=True, slots=True)
class BadWords:
    """The bans of one place, looked up by the text's last tokens."""

    endings: Mapping[Ids, Ids]  # beginning -> tokens that must not follow it
    lengths: tuple[int, ...]  # of the beginnings
    recent: Ids  # the last tokens of the text, as many as the longest beginning has

    def __call__(self, row: Row) -> None:
        """Ban what would complete a sequence."""
        if self.banned():
            row.edit(self.edited(UNEDITED), NAME)

    def edited(self, edits: Edits) -> Edits:
        """As Editing."""
        banned = self.banned()
        return edits.banning(np.array(banned, dtype=np.int64)) if banned else edits

    def banned(self) -> list[int]:
        """The tokens that would."""
        banned: list[int] = []
        for length in self.lengths:
            if length <= len(self.recent):
                banned += self.endings.get(self.recent[len(self.recent) - length :], ())
        return banned

    def after(self, token: int, p: Floats | None) -> BadWords:
        """Another place."""
        longest = self.lengths[-1]
        return replace(self, recent=(*self.recent, token)[-longest:] if longest else ())


def bad_words(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where nothing is forbidden."""
    endings: dict[Ids, Ids] = defaultdict(tuple)
    for word in params.bad_words:
        for ids in spellings(word, opening.encode) if isinstance(word, str) else (tuple(word),):
            opening.ids(NAME, ids)
            endings[ids[:-1]] += (ids[-1],)
    if not endings:
        return None
    lengths = tuple(sorted({len(beginning) for beginning in endings}))
    return BadWords(dict(endings), lengths, opening.prompt[max(0, len(opening.prompt) - lengths[-1]) :])


def spellings(word: str, encode: Callable[[str], Sequence[int]] | None) -> set[Ids]:
    """The ids of a word at the beginning of a text and after a space."""
    if encode is None:
        raise BadParameter(NAME, f"got {shown(word)}, but there is no tokenizer here; give token ids")
    bare = word.lstrip()
    found = {tuple(int(token) for token in encode(text)) for text in (bare, " " + bare)} - {()}
    if not found:
        raise BadParameter(NAME, f"the model's tokenizer has no tokens for {word!r}; leave it out")
    return found
