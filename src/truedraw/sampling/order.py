"""The order of the steps as data. Order defines the law, since every truncation reads what the ones before it left.

Before all of these stand, always and in this order, what acts on the model's own logits: logit_bias, the penalties,
and the bans (allowed_token_ids, min_tokens, bad_words, no_repeat_ngram, a grammar).

A truncation reads p as float64 holds it, all but top_n_sigma: where one stands before a step that reads logits, tokens
whose p it finds to be 0, some 745 nats below the likeliest, are impossible from there on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PENALTIES = "penalties"
"""May be named, as llama.cpp does, but only first: the sign of a logit means nothing after a temperature."""

SWITCHES: dict[str, tuple[str, ...]] = {
    PENALTIES: ("repetition_penalty", "presence_penalty", "frequency_penalty"),
    "temperature": ("temperature", "dynatemp_range"),
    "top_n_sigma": ("top_n_sigma",),
    "top_k": ("top_k",),
    "top_p": ("top_p",),
    "min_p": ("min_p",),
    "typical_p": ("typical_p",),
    "epsilon_cutoff": ("epsilon_cutoff",),
    "eta_cutoff": ("eta_cutoff",),
    "xtc": ("xtc_probability",),
    "mirostat": ("mirostat",),
}
"""Step name -> the parameters that switch it on."""

OFF: dict[str, tuple[float, ...]] = {
    "repetition_penalty": (1.0,),
    "presence_penalty": (0.0,),
    "frequency_penalty": (0.0,),
    "temperature": (1.0,),
    "dynatemp_range": (0.0,),
    "top_n_sigma": (0.0, -1.0),
    "top_k": (0, -1),
    "top_p": (1.0,),
    "min_p": (0.0,),
    "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
    "xtc_probability": (0.0,),
    "mirostat": (0,),
}
"""Parameter -> the values that mean: off."""

TRUNCATIONS = ("top_n_sigma", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "xtc")
SCHEDULED = ("temperature", *TRUNCATIONS[:-1])
"""Parameters that can change over the text."""

DEFAULT_ORDER = "huggingface"
PRESETS: dict[str, tuple[str, ...]] = {
    # transformers, GenerationMixin._get_logits_processor; top_n_sigma, xtc and mirostat are not in it
    "huggingface": ("temperature", "top_n_sigma", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
                    "eta_cutoff", "xtc", "mirostat"),
    # vllm.v1.sample.sampler.Sampler: min_p stands before top_k and top_p; the last six are not in it
    "vllm": ("temperature", "min_p", "top_k", "top_p", "top_n_sigma", "typical_p", "epsilon_cutoff", "eta_cutoff",
             "xtc", "mirostat"),
    # llama.cpp's default samplers, and with mirostat its chain temperature, mirostat; the two cutoffs are not in it
    "llama.cpp": ("top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "epsilon_cutoff", "eta_cutoff", "xtc",
                  "temperature", "mirostat"),
}  # fmt: skip


def on(values: Mapping[str, Any], step: str) -> list[str]:
    """The parameters among `values` that switch a step on; `values["schedule"]` counts too."""
    schedule = values.get("schedule") or {}
    return [
        name
        for name in SWITCHES[step]
        if name in schedule or (values.get(name) is not None and values[name] not in OFF[name])
    ]


def steps_of(order: str | Sequence[str]) -> tuple[str, ...]:
    """The step names of an order, penalties left out."""
    names = PRESETS[order] if isinstance(order, str) else order
    return tuple(name for name in names if name != PENALTIES)
