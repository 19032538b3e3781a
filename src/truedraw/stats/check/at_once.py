"""(e) Rounds that come a few at once, much of it in code compiled here, against the same rounds one by one, which (c)
and (d) look at: on the user's model, by the rule that runs without a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from truedraw.generate.sample import Parts
from truedraw.generate.speculation import OFF, Speculation
from truedraw.protocol import Observer, Proposal, Round, Rows, Verdict
from truedraw.stats.check.drawing import Begun, Recipe, turns
from truedraw.stats.check.records import Finding
from truedraw.stats.check.settings import Settings, spread
from truedraw.stats.check.subject import Subject

NAME = "rounds at once"
SAMPLES = 1, 3  # of a prompt: a text that is alone, and several abreast
WARMER = 1.3  # times the temperature of the others, the second of several: requests of a batch have laws of their own
FEW = 3  # tokens of a round, where a controller decides: about as many as it takes


class Told(NamedTuple):
    """Of the texts of one prompt: tokens and both of their logarithms, round by round, by sample; how many rounds came
    in company with others of the same text; and what was wrong with the drafter."""

    rounds: list[list[tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...], int]]]
    at_once: int
    fault: str | None = None


class Compared(NamedTuple):
    """What one drafter's texts came to."""

    texts: int = 0
    at_once: int = 0
    other: int = 0
    apart: str = ""  # why it says nothing

    def and_those(self, first: Told, again: Told, last: Told) -> Compared:
        """Of one more prompt: where the drafter fails at once alone all of them are others; none is where no round came
        at once, whatever has changed meanwhile."""
        both = zip(first.rounds, again.rounds, last.rounds, strict=True)
        other = sum(last.fault is not None or not own == twin == third for own, twin, third in both)
        other = other if last.at_once or last.fault is not None else 0
        return Compared(self.texts + len(first.rounds), self.at_once + last.at_once, self.other + other)


def rounds_at_once(subject: Subject, settings: Settings) -> Finding:
    """All drafters that are asked by themselves; those that never have rounds at once are left out."""
    found = {name: _compared(subject, each, settings) for name, each in _drafters(subject).items()}
    ran = {name: each for name, each in found.items() if not each.apart}
    left_out = "".join(f"; {name} left out: {each.apart}" for name, each in found.items() if each.apart)
    if not ran:
        return Finding(NAME, None, f"skipped under this law and on this engine{left_out}")
    texts, at_once, other = (sum(getattr(each, of) for each in ran.values()) for of in ("texts", "at_once", "other"))
    says = f"{texts} texts with {at_once} rounds at once are token by token those that come one by one"
    if other:
        says = f"{other} of {texts} texts are others where rounds come at once than where they come one by one"
    figures = {"texts": texts, "at_once": at_once, "other": other, "drafters": len(ran)}
    passed = None if other and not subject.equal_bits else not other
    return Finding(NAME, passed, f"{says} ({', '.join(ran)}){left_out}", figures)


def _drafters(subject: Subject) -> dict[str, Speculation]:
    """By name, with as many tokens in every round: nobody, and of the method auto each that it chooses from."""
    whole, drafts = subject.speculation, subject.model.drafts
    found = whole.parts(drafts.auto_sources) or {whole.method: whole}
    fewer = {"num_speculative_tokens": min(FEW, whole.num_speculative_tokens)} if whole.adaptive else {}
    made = {name: each.but(adaptive=False, **fewer) for name, each in found.items() if each.method != OFF}
    return {OFF: Speculation(OFF), **made}


def _compared(subject: Subject, speculation: Speculation, settings: Settings) -> Compared:
    """Twice one by one, which shows who learns from one run to the next, and so drafts otherwise; then at once."""
    found, recipe = Compared(), _recipe(subject, speculation, settings)
    for number, prompt in enumerate(spread(subject.prompts, settings.equality_prompts)):
        for samples in SAMPLES:
            what = prompt, settings.seed_of(number), samples
            first, again = (_drawn(subject, recipe, what, see) for _ in range(2))
            if fault := first.fault or again.fault:
                return Compared(apart=f"it failed, {fault}")
            if first.rounds != again.rounds and speculation.method != OFF:
                return Compared(apart="it drafts otherwise when the same text is drawn again")
            last = _drawn(subject, recipe, what, None)
            if last.fault:  # where that was an accident it does not come again
                last = _drawn(subject, recipe, what, None)
            found = found.and_those(first, again, last)
    return found if found.at_once or found.other else Compared(apart="it has no rounds at once")


def _recipe(subject: Subject, speculation: Speculation, settings: Settings) -> Recipe:
    rule, tokens = speculation.verifier(None), 0 if speculation.method == OFF else speculation.num_speculative_tokens
    drafts = subject.model.drafts
    return Recipe(subject.law, lambda: speculation.drafter(rule, drafts, learns=False), rule, tokens, settings.length)


def see(sample: int, proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
    """Look on: such rounds come one by one."""


def _drawn(subject: Subject, recipe: Recipe, what: tuple[Sequence[int], int, int], observer: Observer | None) -> Told:
    """`what`: a prompt, a seed, and how many samples."""
    prompt, seed, samples = what
    parts, told = Parts(recipe.drafter(), recipe.verifier, observer), Told([[] for _ in range(samples)], 0)
    for turn in turns(subject.model.engine, recipe, parts, prompt, _begun(recipe, prompt, seed, samples)):
        told = told._replace(at_once=told.at_once + (len(turn) if len(turn) > samples else 0))
        for done in turn:
            told.rounds[done.sample].append(_of(done))
    return told._replace(fault=getattr(parts.drafter, "fault", None))


def _begun(recipe: Recipe, prompt: Sequence[int], seed: int, samples: int) -> list[Begun]:
    begun = recipe.begun(prompt, seed, samples)
    laws: list[Any] = [law for law, _ in begun]  # SamplingLaws: see Subject.law
    return [
        (law.tempered(WARMER) if k == 1 else law, own)
        for k, (law, (_, own)) in enumerate(zip(laws, begun, strict=True))
    ]


def _of(done: Round) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...], int]:
    return tuple(done.tokens), tuple(done.logprobs), tuple(done.sampling_logprobs), done.accepted
