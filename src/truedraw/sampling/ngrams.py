"""no_repeat_ngram n: no sequence of n tokens occurs twice in prompt and output (Paulus et al., 1705.04304).

A token is impossible where it has followed the text's last n - 1 tokens before. As Hugging Face's
no_repeat_ngram_size; n = 1 forbids every token seen.

The text is indexed in segments that all branches share and nobody writes, and the newest tokens are searched one by
one. Segments of similar size are joined, so a token costs O(log text) in the mean and a row looks at O(log text) of
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from truedraw.protocol import Floats
from truedraw.sampling.edits import UNEDITED, Edits
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import Opening, Step

Ids = tuple[int, ...]
Segment = dict[Ids, Ids]  # n - 1 tokens -> those that followed them, each once

RECENT_NGRAMS = 64  # searched one by one at most
NAME = "no_repeat_ngram"


@dataclass(frozen=True, slots=True)
class NoRepeatNgram:
    """The bans of one place."""

    n: int
    segments: tuple[Segment, ...]
    recent: Ids  # the newest tokens; the last n - 1 tokens of the segments stand before them

    def __call__(self, row: Row) -> None:
        """Ban what would complete an n-gram of the text."""
        if self.banned():
            row.edit(self.edited(UNEDITED), NAME)

    def edited(self, edits: Edits) -> Edits:
        """As Editing."""
        banned = self.banned()
        return edits.banning(np.array(banned, dtype=np.int64)) if banned else edits

    def banned(self) -> list[int]:
        """The tokens that would."""
        start = len(self.recent) - self.n + 1
        if start < 0:
            return []
        ending = self.recent[start:]
        width = self.n - 1
        banned = [self.recent[i + width] for i in range(start) if self.recent[i : i + width] == ending]
        for segment in self.segments:
            banned += segment.get(ending, ())
        return banned

    def after(self, token: int, p: Floats | None) -> NoRepeatNgram:
        """With one more token in the text."""
        recent = (*self.recent, token)
        if len(recent) < RECENT_NGRAMS + self.n:
            return replace(self, recent=recent)
        return NoRepeatNgram(
            self.n, joined((*self.segments, index(recent, self.n))), recent[len(recent) - self.n + 1 :]
        )


def no_repeat_ngram(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where it is off."""
    n = params.no_repeat_ngram
    if n == 0:
        return None
    return NoRepeatNgram(n, (index(opening.prompt, n),), opening.prompt[max(0, len(opening.prompt) - n + 1) :])


def index(tokens: Ids, n: int) -> Segment:
    """Every n-gram of `tokens` by its beginning."""
    found: dict[Ids, dict[int, None]] = {}
    for end in range(n - 1, len(tokens)):
        found.setdefault(tokens[end - n + 1 : end], {})[tokens[end]] = None
    return {beginning: tuple(ends) for beginning, ends in found.items()}


def joined(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """The same n-grams in segments that shrink at least by half from one to the next."""
    while len(segments) > 1 and len(segments[-2]) < 2 * len(segments[-1]):
        older, newer = segments[-2:]
        both = {beginning: (*older.get(beginning, ()), *ends) for beginning, ends in newer.items()}
        segments = (*segments[:-2], {**older, **{beginning: tuple(dict.fromkeys(e)) for beginning, e in both.items()}})
    return segments
