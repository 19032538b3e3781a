"""(b) With a seed the text is one and the same, speculative or plain, alone or in a batch, asked for or drawn by the
check itself: compared token by token on the user's model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from truedraw.generate.result import Result
from truedraw.generate.speculation import OFF, Speculation
from truedraw.protocol import Engine, Proposal, Work
from truedraw.sampling.params import SamplingParams
from truedraw.stats.check.drawing import PLAIN, draw_plainly, forks
from truedraw.stats.check.records import Finding
from truedraw.stats.check.settings import Settings, spread
from truedraw.stats.check.subject import Subject

SAMPLES = 4  # of each prompt
TWICE = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two texts part: how far apart the logits of the two tokens are, in nats."""

    prompt: int
    sample: int
    token: int
    logit_margin: float


def seed_equality(subject: Subject, settings: Settings) -> list[Finding]:
    """One finding a draft length, one of all texts in a batch, and one of those that (c) and (d) are drawn like."""
    prompts = spread(subject.prompts, settings.equality_prompts)
    params = _asked(subject.params, settings)
    if not subject.guided:  # a grammar ends its texts
        params = replace(params, ignore_eos=True, stop_token_ids=())
    plain = [subject.model.generate(prompt, params, speculative=PLAIN) for prompt in prompts]
    lengths = draft_lengths(subject.speculation)
    alone = [
        _judged(subject, f"{length} draft tokens", plain, [
            subject.model.generate(prompt, params, speculative=_coupled(subject, length)) for prompt in prompts
        ])
        for length in lengths
    ]  # fmt: skip
    together = _together(subject, prompts, params, lengths[len(lengths) // 2])
    batch = _judged(subject, "in a batch", plain * TWICE, together)
    return [*alone, batch, _drawn_here(replace(subject, params=params), settings.seed, plain)]


def _together(subject: Subject, prompts: Sequence[Sequence[int]], params: SamplingParams, length: int) -> list[Result]:
    """All at once, each of them twice, so that rows which are kept serve again."""
    speculation = _coupled(subject, length)
    with subject.model.batch() as batch:
        runs = [batch.add(prompt, params, speculative=speculation) for _ in range(TWICE) for prompt in prompts]
        while batch.step():
            pass
    return [run.result() for run in runs]


def _drawn_here(subject: Subject, seed: int, plain: Sequence[Result]) -> Finding:
    """Whether requests have the law and the noise of each sample that the texts of (c) and (d) are drawn with."""
    texts = []
    for result in plain:
        lengths = [len(choice.tokens) for choice in result.choices]
        drawn = draw_plainly(subject, result.prompt_tokens, seed, len(lengths), max(1, *lengths))
        texts.append([text[:length] for text, length in zip(drawn.texts, lengths, strict=True)])
    return _compared(subject, "by the check itself", plain, texts, "as those of (c) and (d) are drawn")


def _asked(params: SamplingParams, settings: Settings) -> SamplingParams:
    """A few samples of a fixed length, by the same law."""
    most = settings.equality_tokens
    least = min(params.min_tokens, most)
    return replace(params, seed=settings.seed, n=SAMPLES, best_of=None, max_tokens=most, min_tokens=least, stop=())


def draft_lengths(speculation: Speculation) -> list[int]:
    """One token, the usual number and twice as many; none where nothing drafts."""
    if speculation.method == OFF:
        return [0]
    usual = max(speculation.num_speculative_tokens, 1)
    return sorted({1, usual, 2 * usual})


def _coupled(subject: Subject, length: int) -> Speculation:
    return subject.drafting(length).but(rejection_sample_method="coupled")


def _judged(subject: Subject, name: str, plain: Sequence[Result], fast: Sequence[Result]) -> Finding:
    accepted = sum(r.stats.accepted for r in fast)
    texts = [[choice.tokens for choice in r.choices] for r in fast]
    found = _compared(subject, name, plain, texts, f"{accepted} drafts accepted")
    return replace(found, figures={**found.figures, "accepted": accepted})


def _compared(
    subject: Subject, name: str, plain: Sequence[Result], others: Sequence[Sequence[Sequence[int]]], how: str
) -> Finding:
    found = [
        _difference(subject.model.engine, index, *pair) for index, pair in enumerate(zip(plain, others, strict=True))
    ]
    differences = [each for group in found for each in group]
    texts, tokens = sum(len(r.choices) for r in plain), sum(r.stats.tokens for r in plain)
    figures: dict[str, float] = {"texts": texts, "tokens": tokens, "different": len(differences)}
    says = f"{texts} texts of {tokens} tokens identical ({how})"
    if differences:
        first = min(differences, key=lambda each: each.token)
        figures |= {"first_token": first.token, "logit_margin": first.logit_margin}
        says = (
            f"{len(differences)} of {texts} texts differ, the earliest at token {first.token}, where the logits of the "
            f"two tokens are {first.logit_margin:.3g} apart"
        )
    return Finding(name, None if differences and not subject.equal_bits else not differences, says, figures)


def _difference(engine: Engine, prompt: int, plain: Result, others: Sequence[Sequence[int]]) -> list[Difference]:
    """The first difference of every pair of texts that has one."""
    found = []
    for one, other in zip(plain.choices, others, strict=True):
        places = [i for i, (a, b) in enumerate(zip_longest(one.tokens, other)) if a != b]
        if places:
            at = places[0]
            tokens = [*one.tokens[at : at + 1], *other[at : at + 1]]
            margin = _margin(engine, [*plain.prompt_tokens, *one.tokens[:at]], tokens)
            found.append(Difference(prompt, one.index, at, margin))
    return found


def _margin(engine: Engine, text: Sequence[int], tokens: Sequence[int]) -> float:
    """Between the first and the last of the tokens; 0 where one text has ended and the other goes on."""
    with forks(engine, text, 1) as sequences:
        logits = engine.forward([Work(sequences[0], Proposal.chain(()))])[0].logits[0]
        return float(abs(logits[tokens[0]] - logits[tokens[-1]]))
