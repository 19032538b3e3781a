"""What a user may ask of sampling, with the field's names, checked where it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from truedraw.errors import BadParameter
from truedraw.sampling.contradictions import check_together, overruled
from truedraw.sampling.fixed_dict import FixedDict
from truedraw.sampling.grammar import PARAMETERS as GRAMMARS
from truedraw.sampling.grammar_text import check_grammar, schema_text
from truedraw.sampling.order import DEFAULT_ORDER
from truedraw.sampling.randomness import check_seed
from truedraw.sampling.ranges import (
    OPTIONAL,
    RANGES,
    a_list,
    biases,
    check_number,
    check_utf8,
    ids,
    strings,
    words,
)
from truedraw.sampling.schedules import schedules
from truedraw.sampling.their_names import meant_by
from truedraw.sampling.values import plain, shown

ALIASES = {"no_repeat_ngram_size": "no_repeat_ngram"}
"""Names by which others know our parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """The law to sample from and when to stop. Raises BadParameter naming the first parameter that cannot be.

    The law, in its order (what each step does, and whose definition it is, stands in its file in sampling/):

    logit_bias: {token id: number added to its logit}. repetition_penalty: 0.01 to 100, on tokens of prompt and output.
    presence_penalty, frequency_penalty: -2 to 2, on tokens of the output. allowed_token_ids: the only possible tokens.
    min_tokens: no end token before that many. bad_words: token id sequences, or strings, that never come about.
    no_repeat_ngram: no sequence of that many tokens comes twice; 0 = off. temperature: >= 0; 0 takes the likeliest
    token. dynatemp_range, dynatemp_exponent: the temperature follows the entropy within +- range. top_n_sigma: logits
    within so many standard deviations of the largest. top_k: tokens kept, 0 or -1 = all. top_p, typical_p: mass kept,
    in (0, 1]. min_p: likelihood relative to the likeliest token, in [0, 1]. epsilon_cutoff, eta_cutoff: the least
    probability kept, fixed or by entropy. xtc_probability, xtc_threshold: how often all but the least likely of the
    tokens above the threshold are dropped. mirostat: 2 = steer the surprise to mirostat_tau bits with the rate
    mirostat_eta, in place of every truncation. schedule: {parameter: [[tokens, value], ...]}, see schedules.py.
    grammar (Lark or GBNF), json_schema (a mapping, or JSON), regex: at most one; only tokens that keep the text inside
    it are possible, and it ends where that may end, see grammar.py. Any JSON object: json_schema={"type": "object"}.
    sampler_order: "huggingface", "vllm", "llama.cpp" or a list of step names, see order.py.

    The end. max_tokens: new tokens at most. stop: strings that end the text and are not part of it. stop_token_ids:
    tokens that end it, beside the model's own. ignore_eos: the model's own end tokens do not end it.

    The draws. n: samples of each prompt. best_of: draw that many and keep the n of the highest mean log probability a
    token, by the model; None = n. seed: 0 to 2**64 - 1; the same seed gives the same text, whatever is
    drafted, unless another rule than the default is named; None = a new one every time.

    What is told. logprobs: so many of the likeliest tokens of each place, 0 to 20, with their log probabilities by the
    model, before all of the above; of equally likely ones the lower id first. None = none. Those of the tokens drawn
    are always told. It changes no draw.

    Lists, a single string for `stop`, and numbers of numpy become tuples, and numbers of Python.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0
    top_n_sigma: float = 0.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    no_repeat_ngram: int = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)
    bad_words: Sequence[str | Sequence[int]] = ()
    allowed_token_ids: Sequence[int] | None = None
    min_tokens: int = 0
    grammar: str | None = None
    json_schema: str | bool | Mapping[str, Any] | None = None
    regex: str | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sampler_order: str | Sequence[str] = DEFAULT_ORDER
    n: int = 1
    best_of: int | None = None
    max_tokens: int = 256
    stop: str | Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    seed: int | None = None
    logprobs: int | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name not in GRAMMARS:
                object.__setattr__(self, each.name, plain(getattr(self, each.name)))
        for name in RANGES:
            if not (name in OPTIONAL and getattr(self, name) is None):
                check_number(name, getattr(self, name))
        self._set_lists()
        if not isinstance(self.ignore_eos, bool):
            raise BadParameter("ignore_eos", f"got {shown(self.ignore_eos)}; give true or false")
        if self.seed is not None:
            check_seed(self.seed)
        self._set_grammar()
        check_together({each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def num_drawn(self) -> int:
        """Samples of each prompt, those that `best_of` drops included."""
        return self.n if self.best_of is None else self.best_of

    def _set_lists(self) -> None:
        """Lists become tuples, and mappings fixed ones, so that nobody changes them later."""
        order, allowed = self.sampler_order, self.allowed_token_ids
        checked = {
            "logit_bias": FixedDict(biases(self.logit_bias)),
            "bad_words": words(self.bad_words),
            "allowed_token_ids": None if allowed is None else ids("allowed_token_ids", allowed),
            "schedule": FixedDict(schedules(self.schedule)),
            "sampler_order": order if isinstance(order, str) else a_list("sampler_order", order, ordered=True),
            "stop": strings("stop", self.stop),
            "stop_token_ids": ids("stop_token_ids", self.stop_token_ids),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _set_grammar(self) -> None:
        """The schema becomes JSON text; what is there must compile."""
        for name in GRAMMARS:
            if isinstance(text := getattr(self, name), str):
                check_utf8(name, text)
        if self.json_schema is not None:  # its text has escapes in the place of characters
            object.__setattr__(self, "json_schema", schema_text(self.json_schema))
        for name in GRAMMARS:
            text = getattr(self, name)
            if text is not None:
                if not isinstance(text, str):
                    raise BadParameter(name, f"got {shown(text)}; give a text")
                check_grammar(name, text)


OF_THE_MODEL = "the value is the model's own, of its generation_config.json: correct it there, or give another"


def sampling_params(given: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> SamplingParams:
    """SamplingParams from names and values; None = not given; `defaults` (the model's own) apply below `given`.

    A default that contradicts what was given is left out. Raises BadParameter with the list of valid names where one
    is unknown.
    """
    valid = [each.name for each in fields(SamplingParams)]
    request = by_our_names(given)
    for name in request:
        if name not in valid:
            raise BadParameter(
                name, f"no such sampling parameter{meant_by(name, valid)}; valid ones are {', '.join(valid)}"
            )
    gone = overruled(request)
    below = {name: value for name, value in by_our_names(defaults or {}).items() if name in valid and name not in gone}
    try:
        return SamplingParams(**{**below, **request})
    except BadParameter as error:
        if error.parameter not in below or error.parameter in request:
            raise
        raise BadParameter(error.parameter, f"{error.reason} ({OF_THE_MODEL})") from error


def by_our_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None; raises BadParameter where a parameter was given under two names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        ours = ALIASES.get(name, name)
        if value is not None and ours in found:
            raise BadParameter(ours, f"given twice: {name} is another name for it")
        if value is not None:
            found[ours] = value
    return found
