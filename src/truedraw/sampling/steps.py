"""Step name -> how it is made from the parameters. A new step is a function, here or in its own file, and a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from truedraw.protocol import Floats
from truedraw.sampling import truncate
from truedraw.sampling.bad_words import bad_words
from truedraw.sampling.bans import allowed_token_ids, min_tokens
from truedraw.sampling.bias import logit_bias
from truedraw.sampling.mirostat import mirostat
from truedraw.sampling.ngrams import no_repeat_ngram
from truedraw.sampling.order import OFF, steps_of
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.penalties import penalties
from truedraw.sampling.row import Row
from truedraw.sampling.step import Fixed, Opening, Scheduled, Step
from truedraw.sampling.temperature import dynamic_temperature
from truedraw.sampling.xtc import xtc

Builder = Callable[[SamplingParams, Opening], Step | None]


def steps(params: SamplingParams, opening: Opening) -> tuple[tuple[str, Step], ...]:
    """(name, step) of the steps that are switched on, in their order; the name of those before the order is ""."""
    first = [("", build(params, opening)) for build in FIRST] + [("", mask) for mask in opening.masks]
    then = [(name, STEPS[name](params, opening)) for name in steps_of(params.sampler_order)]
    return tuple((name, step) for name, step in (*first, *then) if step is not None)


def number(name: str, change: Callable[[Row, float], None]) -> Builder:
    """A step that is one number, fixed or scheduled."""

    def build(params: SamplingParams, _: Opening) -> Step | None:
        if points := params.schedule.get(name):
            return Scheduled(lambda row, value: None if value in OFF[name] else change(row, value), points)
        value = getattr(params, name)
        return None if value in OFF[name] else Fixed(lambda row: change(row, value), value)

    return build


def truncation(name: str, mask: Callable[[Floats, float], truncate.Mask]) -> Builder:
    """A step that keeps a set of tokens which p decides."""
    return number(name, lambda row, value: row.keep(mask(row.p, value)))


def temperature(params: SamplingParams, opening: Opening) -> Step | None:
    """One temperature, or one that follows the entropy around it."""
    if params.dynatemp_range == 0.0:
        return number("temperature", Row.temper)(params, opening)
    change = partial(dynamic_temperature, span=params.dynatemp_range, exponent=params.dynatemp_exponent)
    points = params.schedule.get("temperature") or ((0, params.temperature),)
    return Scheduled(change, points) if len(points) > 1 else Fixed(partial(change, temperature=points[0][1]))


def top_n_sigma(row: Row, n: float) -> None:
    """The one truncation that reads logits."""
    logits = row.lowered()
    logits[~truncate.top_n_sigma(logits, n)] = -np.inf


FIRST: tuple[Builder, ...] = (logit_bias, penalties, allowed_token_ids, min_tokens, bad_words, no_repeat_ngram)
"""On the model's own logits, whatever the sampler order."""

STEPS: dict[str, Builder] = {
    "temperature": temperature,
    "top_n_sigma": number("top_n_sigma", top_n_sigma),
    "top_k": truncation("top_k", lambda p, k: truncate.top_k(p, round(k))),
    "top_p": truncation("top_p", truncate.top_p),
    "min_p": truncation("min_p", truncate.min_p),
    "typical_p": truncation("typical_p", truncate.typical_p),
    "epsilon_cutoff": truncation("epsilon_cutoff", truncate.epsilon_cutoff),
    "eta_cutoff": truncation("eta_cutoff", truncate.eta_cutoff),
    "xtc": xtc,
    "mirostat": mirostat,
}
