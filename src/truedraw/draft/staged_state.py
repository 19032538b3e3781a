"""A text of the staged drafter."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.draft.behind import law_after, look_ahead
from truedraw.draft.cached_text import CachedText
from truedraw.draft.site import close
from truedraw.protocol import DraftState, Law, Scores


class StagedState:
    """protocol.DraftState: the text in the middle model's cache, its law there, and the stage's own state.

    `behind` is certain to follow; `reader`, the stage's state behind it, is None where the stage cannot look ahead.
    """

    def __init__(self, text: CachedText, law: Law, reader: DraftState | None, behind: tuple[int, ...] = ()) -> None:
        self.text, self.law, self.reader, self.behind = text, law, reader, behind

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """The text goes on. Scores that say what they are of go to the stage as well, otherwise their first row."""
        self.text.append(tokens)
        self.law = law_after(self.law, tokens)
        if self.reader is not None:
            self.reader.commit(tokens, placed(scores))

    def ahead(self, tokens: Sequence[int]) -> StagedState:
        """protocol.LooksAhead: the tokens ride in the first pass of the round."""
        reader = look_ahead(self.reader, tokens)
        return StagedState(self.text, law_after(self.law, tokens), reader, (*self.behind, *tokens))

    def close(self) -> None:
        """Give the pages back; the text can still go on, and be drafted for."""
        self.text.close()
        close(self.reader)


def placed(scores: Scores) -> Scores:
    """What a drafter can place that did not make the proposal: without its name only row 0, behind the text."""
    if scores.proposal is not None:
        return scores
    return Scores(scores.logits[:1], None if scores.hidden is None else scores.hidden[:1], text=scores.text)
