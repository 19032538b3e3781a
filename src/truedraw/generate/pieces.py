"""The text of a run in pieces of whole characters: as it comes, or once it is known which samples are wanted."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
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


def as_they_come(steps: Iterable[Sequence[Round]], readers: Sequence[TextReader]) -> Generator[Piece]:
    """Those of all samples, interleaved, as the steps of a run bring them."""
    shown = [0] * len(readers)
    for step in steps:
        for done in step:
            first = shown[done.sample]
            end = None if done.finish_reason else first + len(done.tokens)
            fresh = readers[done.sample].pieces[first:end]
            shown[done.sample] += len(fresh)
            yield from _of(done.sample, fresh, done.origins)


def at_the_end(run: Generation) -> Generator[Piece]:
    """Those of the samples that are chosen then, one after the other."""
    for _ in run:
        pass
    for choice in run.result().choices:
        yield from _of(choice.index, choice.pieces, choice.origins)


def _of(sample: int, texts: Sequence[str], origins: Sequence[Origin]) -> Iterator[Piece]:
    """Texts of tokens; what was held back to the end comes with the last token."""
    for text, origin in zip(texts, (*origins, *origins[-1:]), strict=False):
        if text:
            yield Piece(sample, text, origin)
