"""One run over one prompt: prepared here, moved by the loop, read from outside while it goes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from truedraw.errors import BadParameter
from truedraw.generate.ending import Ending
from truedraw.generate.loop import Parts, Sample, Stopwatch, rounds
from truedraw.generate.reader import TextReader
from truedraw.generate.result import Choice, Result
from truedraw.generate.speculation import Speculation
from truedraw.generate.spelling import spelling
from truedraw.protocol import Engine, LossyVerifier, Origin, Randomness, Round
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness, fresh_seed
from truedraw.sampling.step import Opening
from truedraw.stats.summary import Stats, summary
from truedraw.text import Tokenizer
from truedraw.text.guided import masks

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a sample's text and where its last token came from."""

    sample: int
    text: str
    origin: Origin


class Generation:
    """Iterate it for the rounds, or `pieces()` for the text; `result()` is what there is so far, at any time."""

    def __init__(
        self, name: str, engine: Engine, tokenizer: Tokenizer, prompt: Sequence[int], params: SamplingParams,
        spec: Speculation,
    ) -> None:  # fmt: skip
        self._name, self._prompt, self.params = name, tuple(prompt), params
        self._started, self._ended = perf_counter(), 0.0
        self._fork_seconds = 0.0  # the engine's time to compute the prompt, where samples share it
        self._rounds: list[Round] = []
        self._interrupted = False
        self._readers = [TextReader(tokenizer, params.stop) for _ in range(params.n)]
        self._parts = Parts(engine, spec.drafter(), spec.verifier(params.seed), spec.controller())
        for token in params.stop_token_ids:
            if token >= engine.vocab_size:
                raise BadParameter(
                    "stop_token_ids", f"got {token}; the model's token ids are 0 to {engine.vocab_size - 1}"
                )
        self._end_ids = {*params.stop_token_ids, *(() if params.ignore_eos else tokenizer.eos_ids)}
        seed = fresh_seed() if params.seed is None else params.seed
        self._chances = [PhiloxRandomness(seed, index) for index in range(params.n)]
        self._masks = masks(params, tokenizer, engine.vocab_size)
        self._laws = [SamplingLaw(params, self._opening(tokenizer, chance)) for chance in self._chances]
        self._run = self._go()

    def __iter__(self) -> Iterator[list[Round]]:
        return self._run

    def pieces(self) -> Iterator[Piece]:
        """The text as it comes, in pieces of whole characters; pieces of several samples are interleaved."""
        shown = [0] * self.params.n
        for step in self:
            for done in step:
                fresh = self._readers[done.sample].pieces[shown[done.sample] :]
                shown[done.sample] += len(fresh)
                origins = (*done.origins, done.origins[-1])  # what was held back comes with the last token
                for text, origin in zip(fresh, origins, strict=False):
                    if text:
                        yield Piece(done.sample, text, origin)

    def result(self) -> Result:
        """The samples so far; those that have not ended are marked "interrupted"."""
        seconds = (self._ended or perf_counter()) - self._started
        choices = tuple(self._choice(index, seconds) for index in range(self.params.n))
        rule = self._parts.verifier
        loss = rule.loss() if isinstance(rule, LossyVerifier) else None
        return Result(self._name, self._prompt, self.params.seed, choices, self._stats(seconds), loss)

    def interrupt(self) -> None:
        """End after the round that is being computed; a signal handler or another thread may call it."""
        self._interrupted = True

    def _stats(self, seconds: float) -> Stats:
        return summary(self._rounds, seconds, self._fork_seconds)

    def close(self) -> None:
        """Stop early: what was held back joins the text, and the pages are free again."""
        self._run.close()

    def _go(self) -> Generator[list[Round]]:
        samples = self._open()
        try:
            for step in rounds(self._parts, samples):
                self._rounds += step
                for done in step:
                    if done.finish_reason:
                        self._readers[done.sample].finish()
                yield step
                if self._interrupted:
                    break
        finally:
            self._ended = perf_counter()
            for sample in samples:
                self._readers[sample.index].finish()
                sample.sequence.close()

    def _open(self) -> list[Sample]:
        engine, n = self._parts.engine, self.params.n
        clock = Stopwatch()
        first = engine.open(self._prompt)
        sequences = [first, *engine.fork(first, n - 1)]
        self._fork_seconds = clock.lap()
        room = min(self.params.max_tokens, engine.context_length - len(self._prompt))
        return [
            Sample(
                index=index,
                law=self._laws[index],
                randomness=self._chances[index],
                ending=Ending(self._end_ids, room, self._readers[index]),
                sequence=sequence,
                draft=self._parts.drafter.open(self._prompt, self._laws[index]),
            )
            for index, sequence in enumerate(sequences)
        ]

    def _opening(self, tokenizer: Tokenizer, chance: Randomness) -> Opening:
        """Where the law of a sample starts."""
        encode = partial(spelling, tokenizer)
        vocab = self._parts.engine.vocab_size
        return Opening(self._prompt, vocab, tuple(self._end_ids), chance, encode, self._masks)

    def _choice(self, index: int, seconds: float) -> Choice:
        mine = [r for r in self._rounds if r.sample == index]
        reason = mine[-1].finish_reason if mine else None
        return Choice(
            index=index,
            text=self._readers[index].text,
            tokens=tuple(t for r in mine for t in r.tokens),
            origins=tuple(o for r in mine for o in r.origins),
            logprobs=tuple(x for r in mine for x in r.logprobs),
            sampling_logprobs=tuple(x for r in mine for x in r.sampling_logprobs),
            pieces=tuple(self._readers[index].pieces),
            finish_reason=reason or INTERRUPTED,
            stats=summary(mine, seconds if self.params.n == 1 else None),
            exact=self._parts.verifier.exact,
        )
