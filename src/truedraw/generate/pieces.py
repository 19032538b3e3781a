"""The text of a run in pieces of whole characters: as it comes, or once it is known which samples are wanted."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from truedraw.generate.reader import TextReader
from truedraw.protocol import Origin, Round

if TYPE_CHECKING:
    from truedraw.generate.generation import Generation


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a sample's text and where its last token came from."""

    sample: int
    text: str
    origin: Origin


@dataclass(slots=True, eq=False)
class HandedOut:
    """Of sample number so-and-so: where the tokens of its rounds came from, how many pieces there were, and whether it
    has ended."""

    sample: int
    reader: TextReader
    origins: list[Origin] = field(default_factory=list)
    pieces: int = 0
    is_over: bool = False

    def round(self, done: Round) -> None:
        """Handed out."""
        self.origins += done.origins
        self.is_over = done.finish_reason is not None

    def rest(self, tokens: int | None) -> Iterator[Piece]:
        """Of the first so many tokens, or of the whole text: the pieces that nobody has yet."""
        pieces = self.reader.pieces
        while self.pieces < (len(pieces) if tokens is None else min(tokens, len(pieces))):
            place, self.pieces = self.pieces, self.pieces + 1
            if pieces[place] and self.origins:  # what was held back to the end comes with the last token
                yield Piece(self.sample, pieces[place], self.origins[min(place, len(self.origins) - 1)])


def as_they_come(steps: Iterable[Sequence[Round]], samples: Sequence[HandedOut]) -> Generator[Piece]:
    """Those of all samples, interleaved, as the steps of a run bring them: the ones before first, if they were not
    handed out as pieces."""
    tokens = [len(each.origins) for each in samples]
    for each in samples:
        yield from each.rest(None if each.is_over else len(each.origins))
    for step in steps:
        for done in step:
            tokens[done.sample] += len(done.tokens)
            yield from samples[done.sample].rest(None if done.finish_reason else tokens[done.sample])
    for each in samples:  # what a run held back that was ended from outside
        yield from each.rest(None)


def at_the_end(run: Generation, samples: Sequence[HandedOut]) -> Generator[Piece]:
    """Those of the samples that are chosen then, one after the other."""
    for _ in run:
        pass
    for choice in run.result().choices:
        yield from samples[choice.index].rest(None)
