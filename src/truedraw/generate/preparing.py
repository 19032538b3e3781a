"""From a request to a job: everything that can be wrong with it is found here, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from truedraw.errors import BadParameter
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.ending import Ending
from truedraw.generate.job import Job, Start
from truedraw.generate.reader import TextReader
from truedraw.generate.sample import Parts
from truedraw.generate.seeds import judged_seed
from truedraw.generate.shared_drafters import SharedDrafters
from truedraw.generate.speculation import OFF, Speculation
from truedraw.generate.spelling import spelling
from truedraw.protocol import Engine, Observer, Randomness, Verifier
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness, fresh_seed
from truedraw.sampling.step import Opening
from truedraw.sampling.values import shown
from truedraw.sampling.xtc import xtc
from truedraw.text import Tokenizer
from truedraw.text.guided import masks

XTC = "xtc"
"""The name of a step, the one that asks for a sample's own chance."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one prompt."""

    prompt: tuple[int, ...]
    params: SamplingParams
    speculation: Speculation
    observer: Observer | None = None


def prepare(
    wish: Wish, engine: Engine, tokenizer: Tokenizer, drafts: DraftModels, shared: SharedDrafters | None = None
) -> tuple[Job, list[TextReader]]:
    """The job, and what turns its samples' tokens into text; it may share drafters with others. Raises BadInput."""
    params = wish.params
    end_ids = ends(params, tokenizer, engine.vocab_size)
    readers = [TextReader(tokenizer, params.stop) for _ in range(params.num_drawn)]
    verifier = wish.speculation.verifier(params.seed)
    seed, told = seed_of(wish, verifier, drafts)
    opening = Opening(
        wish.prompt,
        engine.vocab_size,
        held_back(params, tokenizer),
        encode=partial(spelling, tokenizer),
        masks=masks(params, tokenizer, engine.vocab_size),
    )
    room = min(params.max_tokens, engine.context_length - len(wish.prompt))
    chances = [PhiloxRandomness(seed, index) for index in range(len(readers))]
    endings = [Ending(end_ids, room, reader) for reader in readers]
    starts = [Start(*each) for each in zip(laws(params, opening, chances), chances, endings, strict=True)]
    return Job(wish.prompt, parts(wish, verifier, drafts, shared), starts, told), readers


def laws(params: SamplingParams, opening: Opening, chances: Sequence[Randomness]) -> list[SamplingLaw]:
    """Of each sample: they differ in the coins of xtc alone, and have all else together."""
    first, *others = (replace(opening, randomness=chance) for chance in chances)
    law = SamplingLaw(params, first)
    if XTC not in law.numbers():
        return [law] * len(chances)
    return [law, *(law.replacing({XTC: xtc(params, other)}) for other in others)]


def seed_of(wish: Wish, verifier: Verifier, drafts: DraftModels) -> tuple[int, int | None]:
    """Whose noise the samples take, and what the result calls it."""
    seed = wish.params.seed
    if seed is None:
        return fresh_seed(), None
    if verifier.coupled or wish.speculation.method == OFF:
        return seed, seed
    told = drafts.seeds.next(seed)
    return judged_seed(told), told


def ends(params: SamplingParams, tokenizer: Tokenizer, vocab_size: int) -> set[int]:
    """The tokens that end a text; raises BadParameter for one outside the vocabulary."""
    for token in params.stop_token_ids:
        if token >= vocab_size:
            raise BadParameter("stop_token_ids", f"got {shown(token)}; the model's token ids are 0 to {vocab_size - 1}")
    return {*params.stop_token_ids, *(() if params.ignore_eos else tokenizer.eos_ids)}


def held_back(params: SamplingParams, tokenizer: Tokenizer) -> tuple[int, ...]:
    """What min_tokens bans, as vLLM does: the model's end tokens as well where they end nothing."""
    return tuple(sorted({*params.stop_token_ids, *tokenizer.eos_ids}))


def parts(wish: Wish, verifier: Verifier, drafts: DraftModels, shared: SharedDrafters | None) -> Parts:
    """The stages that are the job's own: a rule that counts what it loses counts for one job."""
    spec, asked = wish.speculation, None
    if shared is None:
        drafter = spec.drafter(verifier, drafts)
    else:
        drafter, asked = shared.drafters(spec, verifier, drafts)
    most = 0 if spec.method == OFF else spec.num_speculative_tokens
    return Parts(drafter, verifier, wish.observer, asked, most, spec.name, spec.controller(), wish.params.logprobs or 0)
