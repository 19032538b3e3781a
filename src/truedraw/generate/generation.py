"""One run over one prompt, read from outside while it goes: alone, or as one job among many."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import GEN_CREATED, getgeneratorstate

from truedraw.control.explanation import Explanation
from truedraw.errors import BadInput, TruedrawError
from truedraw.generate.job import Job
from truedraw.generate.one_place import OnePlace
from truedraw.generate.pieces import HandedOut, Piece, as_they_come, at_the_end
from truedraw.generate.reader import TextReader
from truedraw.generate.result import Choice, Result
from truedraw.generate.scheduler import Scheduler
from truedraw.protocol import LossyVerifier, Round
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.values import plain_number, shown
from truedraw.stats.summary import Stats, summary

INTERRUPTED = "interrupted"
TWICE = "generator already executing"  # as Python says it


class Generation(OnePlace):
    """Iterate it for the rounds, or `pieces()` for the text; `result()` is what there is so far, at any time.

    Other threads than the one that moves it may read it, too: what they get is the run as it was after some round.

    Where several share a scheduler, iterating one moves all of them. `error` says why a run could not go on: iterating
    it raises the error at the end, and the texts keep what they have.
    """

    instead = "result() can be"
    _alone = False  # until it is made

    def __init__(
        self, name: str, params: SamplingParams, job: Job, readers: Sequence[TextReader], scheduler: Scheduler, *,
        alone: bool = True,
    ) -> None:  # fmt: skip
        self.params = params
        self._name, self._job, self._readers, self._scheduler = name, job, readers, scheduler
        self._handed_out = [HandedOut(index, reader) for index, reader in enumerate(readers)]
        self._run = self._go()
        self._alone = alone

    def __del__(self) -> None:
        if self._alone and getgeneratorstate(self._run) == GEN_CREATED:  # nothing else ends what never began
            self._scheduler.abandon()

    @property
    def error(self) -> TruedrawError | None:
        """Why it ended early, None where it did not, or because of an interruption."""
        return self._job.error

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._job.ended_at is not None

    @property
    def _fault(self) -> str | None:
        """Why drafting was given up, in words."""
        return getattr(self._job.parts.drafter, "fault", None)

    def __repr__(self) -> str:
        rounds, count = self._job.rounds, len(self._readers)
        state = "ended" if self.ended else "running" if rounds else "not begun"
        said = state if self.error is None else f"failed: {type(self.error).__name__}"
        tokens, samples = sum(len(each.tokens) for each in rounds), "1 sample" if count == 1 else f"{count} samples"
        return f"<truedraw.Generation {samples} of {shown(self._name)}, {said}, {tokens} tokens>"

    def __iter__(self) -> Iterator[list[Round]]:
        return self

    def __next__(self) -> list[Round]:
        try:
            return next(self._run)
        except ValueError as error:
            if str(error) != TWICE:
                raise
            raise BadInput(
                "this run is being moved already, by another thread or by what it has called; one thread iterates it, "
                "and others read result()"
            ) from error

    def pieces(self) -> Generator[Piece]:
        """The text as it comes, in pieces of whole characters; pieces of several samples are interleaved. What was
        written before comes first; of what was handed out as a piece, only the rest.

        With `best_of` nobody knows before the end which samples are wanted: all of it comes then.
        """
        if len(self._readers) > self.params.n:
            return at_the_end(self, self._handed_out)
        self._job.is_read = True
        return as_they_come(self, self._handed_out)

    def result(self) -> Result:
        """The samples so far; those that have not ended are marked "interrupted", also where `error` says why."""
        ended, rounds = self.ended, self._job.rounds[:]  # in this order: what has ended is whole
        choices = [self._choice(index, mine, ended) for index, mine in enumerate(self._by_sample(rounds))]
        rule, fault = self._job.parts.verifier, self._fault
        loss = rule.loss() if isinstance(rule, LossyVerifier) else None
        best = tuple(best_first(choices)[: self.params.n]) if len(choices) > self.params.n else tuple(choices)
        why = self.explanation() if self._alone else None
        stats, dropped = self._stats(rounds, why), len(choices) - len(best)
        return Result(self._name, self._job.prompt, self._job.seed, best, stats, loss, fault, why, dropped)

    def explanation(self) -> Explanation | None:
        """What the controller did so far, and why, for all runs that share it; None where nothing was left to it."""
        account, parts = getattr(self._scheduler.controller, "account", None), self._job.parts
        return None if account is None or parts.controller or not parts.most_drafted else account.explanation()

    def choice(self, index: int) -> Choice:
        """One sample so far, 0 the first; raises BadInput for one that there is not."""
        index = plain_number(index)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self._readers):
            raise BadInput(f"there is no sample {shown(index)}; this run has {len(self._readers)}, the first is 0")
        ended, rounds = self.ended, self._job.rounds[:]
        number = self._job.first + index
        return self._choice(index, [each for each in rounds if each.sample == number], ended)

    def cancel(self) -> None:
        """End after the pass that is being computed; a signal handler or another thread may call it."""
        self._scheduler.cancel(self._job)

    interrupt = cancel

    def close(self) -> None:
        """Stop early: what was held back joins the text, and the pages are free again."""
        with suppress(ValueError):  # another thread is just reading it, and finds that it has ended
            self._run.close()
        if self._alone:
            self._scheduler.close()
        else:
            self.cancel()

    def _go(self) -> Generator[list[Round]]:
        rounds, shown, is_over = self._job.rounds, 0, False
        try:
            while not is_over or shown < len(rounds):
                if shown < len(rounds):
                    fresh = rounds[shown:]
                    shown += len(fresh)
                    own = [self._own(each) for each in fresh]
                    for each in own:
                        self._handed_out[each.sample].round(each)
                    yield own
                else:
                    is_over = self.ended or not self._scheduler.step()
        finally:
            if self._alone:
                self._scheduler.abandon()
        if self.error is not None:
            raise self.error

    def _own(self, done: Round) -> Round:
        """With the sample's number among those of this run."""
        return replace(done, sample=done.sample - self._job.first) if self._job.first else done

    def _by_sample(self, rounds: Sequence[Round]) -> list[list[Round]]:
        found: list[list[Round]] = [[] for _ in self._readers]
        for each in rounds:
            found[each.sample - self._job.first].append(each)
        return found

    def _stats(self, rounds: Sequence[Round], why: Explanation | None) -> Stats:
        found = summary(rounds, self._job.seconds, self._job.fill_seconds, (self._fault,))
        if why is None:
            return found
        return replace(found, predicted_speedup=why.predicted_speedup, actual_speedup=why.actual_speedup)

    def _choice(self, index: int, mine: Sequence[Round], ended: bool) -> Choice:
        """Of these rounds; the text of the round that is being drawn is left out."""
        reason, reader = mine[-1].finish_reason if mine else None, self._readers[index]
        tokens = tuple(t for r in mine for t in r.tokens)
        pieces = tuple(reader.pieces[: None if reason or ended else len(tokens)])
        top = None if self.params.logprobs is None else tuple(each for r in mine for each in r.top_logprobs)
        return Choice(
            index=index,
            text="".join(pieces),
            tokens=tokens,
            origins=tuple(o for r in mine for o in r.origins),
            logprobs=tuple(x for r in mine for x in r.logprobs),
            sampling_logprobs=tuple(x for r in mine for x in r.sampling_logprobs),
            pieces=pieces,
            finish_reason=reason or INTERRUPTED,
            stats=summary(mine, self._job.seconds if len(self._readers) == 1 else None, fallbacks=(self._fault,)),
            exact=self._job.parts.verifier.exact,
            top_logprobs=top,
            top_bytes={token: reader.token_bytes(token) for each in top or () for token, _ in each},
        )


def best_first(choices: Sequence[Choice]) -> list[Choice]:
    """By the model's mean log probability a token, the highest first; samples that have not ended come last."""
    return sorted(choices, key=lambda choice: (choice.finish_reason == INTERRUPTED, -choice.mean_logprob))
