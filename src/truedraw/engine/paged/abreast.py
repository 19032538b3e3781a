"""Rounds of several texts at once: all pages that they need are taken before, and the texts are told at the end."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from truedraw.engine.paged.sequence import PagedSequence
from truedraw.protocol import PassJob


class PagedAbreast:
    """protocol.Abreast, by passes over the last token of each and drafts behind it."""

    def __init__(self, sequences: Seq[PagedSequence], job: PassJob) -> None:
        self.job, self._sequences = job, sequences
        job.past[:] = [len(sequence.tokens) - 1 for sequence in sequences]
        if len(job.ids) == len(sequences):
            job.ids[:], job.positions[:] = [sequence.tokens[-1] for sequence in sequences], job.past
        for sequence in sequences:
            sequence.uncertain()

    def end(self, kept: Seq[Seq[int]]) -> None:
        """See Abreast: as if what was kept had been drafted in one pass, and all of it accepted."""
        for sequence, tokens in zip(self._sequences, kept, strict=True):
            if tokens:
                sequence.computed(len(sequence.tokens), list(tokens[:-1]))
                sequence.commit(tokens)
