"""The flags of the sampling law, with the names of SamplingParams. None everywhere means: not given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from truedraw.cli import written
from truedraw.cli.grammar_files import grammar_text
from truedraw.cli.grouping import flag
from truedraw.cli.stdin import argument_text, argument_texts
from truedraw.errors import BadParameter

SAMPLING, LAW = "Sampling", "The rest of the sampling law"

READ: dict[str, Callable[[Any], Any]] = {
    "stop": argument_texts,
    "bad_words": argument_texts,
    "regex": argument_text,
    "logit_bias": written.biases,
    "schedule": written.schedules,
    "sampler_order": written.order,
    "grammar": partial(grammar_text, "--grammar"),
    "json_schema": partial(grammar_text, "--json-schema"),
}
"""What is text, or written in parts, or in a file."""


@dataclass(frozen=True, slots=True)
class SamplingFlags:
    """The law, and where texts end; names and ranges of SamplingParams."""

    temperature: Annotated[
        float | None,
        flag(
            "--temperature",
            "-t",
            help="0 takes the likeliest token; 1 if neither this nor the model's folder says another.",
            rich_help_panel=SAMPLING,
        ),
    ] = None
    top_k: Annotated[
        int | None, flag("--top-k", help="Tokens kept; 0 and -1 both keep all.", rich_help_panel=SAMPLING)
    ] = None
    top_p: Annotated[float | None, flag("--top-p", help="Mass kept, in (0, 1].", rich_help_panel=SAMPLING)] = None
    min_p: Annotated[
        float | None, flag("--min-p", help="Share of the likeliest token's mass, 0 to 1.", rich_help_panel=SAMPLING)
    ] = None
    typical_p: Annotated[
        float | None, flag("--typical-p", help="Typical mass kept, in (0, 1].", rich_help_panel=SAMPLING)
    ] = None
    max_tokens: Annotated[
        int | None,
        flag(
            "--max-tokens",
            help="New tokens at most; 256 if not given, where the verb does not say otherwise.",
            rich_help_panel=SAMPLING,
        ),
    ] = None
    seed: Annotated[
        int | None,
        flag(
            "--seed", help="Same seed, same text, whatever is drafted, by the default rule.", rich_help_panel=SAMPLING
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        flag("--stop", help="Text that ends it and is left out; repeatable.", rich_help_panel=SAMPLING),
    ] = None
    stop_token_ids: Annotated[
        list[int] | None,
        flag("--stop-token-ids", help="Token that ends it; repeatable.", rich_help_panel=SAMPLING),
    ] = None
    ignore_eos: Annotated[
        bool, flag("--ignore-eos", help="The model's end token does not end it.", rich_help_panel=SAMPLING)
    ] = False
    grammar: Annotated[
        str | None,
        flag("--grammar", metavar="FILE|TEXT", help="Lark or GBNF that the text follows.", rich_help_panel=SAMPLING),
    ] = None
    json_schema: Annotated[
        str | None,
        flag("--json-schema", metavar="FILE|JSON", help="Schema of the JSON to write.", rich_help_panel=SAMPLING),
    ] = None
    regex: Annotated[
        str | None, flag("--regex", help="Regular expression that the text matches.", rich_help_panel=SAMPLING)
    ] = None
    logprobs: Annotated[
        int | None,
        flag("--logprobs", help="So many likeliest tokens beside each, 0 to 20; in JSON.", rich_help_panel=SAMPLING),
    ] = None

    epsilon_cutoff: Annotated[
        float | None, flag("--epsilon-cutoff", help="Least probability kept.", rich_help_panel=LAW)
    ] = None
    eta_cutoff: Annotated[
        float | None, flag("--eta-cutoff", help="Least probability kept, by entropy.", rich_help_panel=LAW)
    ] = None
    top_n_sigma: Annotated[
        float | None,
        flag(
            "--top-n-sigma",
            help="Logits within so many deviations of the largest; 0 and -1 both keep all.",
            rich_help_panel=LAW,
        ),
    ] = None
    xtc_probability: Annotated[
        float | None, flag("--xtc-probability", help="How often top choices are left out.", rich_help_panel=LAW)
    ] = None
    xtc_threshold: Annotated[
        float | None,
        flag("--xtc-threshold", help="Least probability of a top choice; 0.1 if not given.", rich_help_panel=LAW),
    ] = None
    dynatemp_range: Annotated[
        float | None, flag("--dynatemp-range", help="Temperature by entropy, within +- range.", rich_help_panel=LAW)
    ] = None
    dynatemp_exponent: Annotated[
        float | None,
        flag("--dynatemp-exponent", help="How it follows the entropy; 1 if not given.", rich_help_panel=LAW),
    ] = None
    mirostat: Annotated[
        int | None, flag("--mirostat", help="2 steers the surprise, in place of truncation.", rich_help_panel=LAW)
    ] = None
    mirostat_tau: Annotated[
        float | None, flag("--mirostat-tau", help="Surprise to steer to, in bits; 5 if not given.", rich_help_panel=LAW)
    ] = None
    mirostat_eta: Annotated[
        float | None, flag("--mirostat-eta", help="How fast it steers; 0.1 if not given.", rich_help_panel=LAW)
    ] = None
    repetition_penalty: Annotated[
        float | None,
        flag(
            "--repetition-penalty",
            help="On tokens of prompt and output; 1 is off.",
            rich_help_panel=LAW,
        ),
    ] = None
    presence_penalty: Annotated[
        float | None, flag("--presence-penalty", help="On tokens of the output, -2 to 2.", rich_help_panel=LAW)
    ] = None
    frequency_penalty: Annotated[
        float | None, flag("--frequency-penalty", help="The same, for each occurrence.", rich_help_panel=LAW)
    ] = None
    no_repeat_ngram: Annotated[
        int | None, flag("--no-repeat-ngram", help="No sequence of so many tokens comes twice.", rich_help_panel=LAW)
    ] = None
    min_tokens: Annotated[
        int | None, flag("--min-tokens", help="No end token before so many.", rich_help_panel=LAW)
    ] = None
    logit_bias: Annotated[
        list[str] | None, flag("--logit-bias", help="ID=NUMBER, added to a logit; repeatable.", rich_help_panel=LAW)
    ] = None
    bad_words: Annotated[
        list[str] | None, flag("--bad-words", help="Word that never comes; repeatable.", rich_help_panel=LAW)
    ] = None
    allowed_token_ids: Annotated[
        list[int] | None, flag("--allowed-token-ids", help="The only possible tokens; repeatable.", rich_help_panel=LAW)
    ] = None
    schedule: Annotated[
        list[str] | None,
        flag("--schedule", help="NAME=TOKENS:VALUE,... over the text; repeatable.", rich_help_panel=LAW),
    ] = None
    sampler_order: Annotated[
        str | None, flag("--sampler-order", help="huggingface, vllm, llama.cpp or steps, a,b,c.", rich_help_panel=LAW)
    ] = None

    def given(self) -> dict[str, Any]:
        """The parameters that were given, for SamplingParams; raises BadParameter where one cannot be read."""
        values = {name: getattr(self, name) for name in self.__slots__}
        found = {
            name: value for name, value in values.items() if value is not None and value is not False and value != []
        }
        return {name: READ[name](value) if name in READ else value for name, value in found.items()}

    def refuse_logprobs(self, why: str = "no token is shown here; leave it out") -> None:
        """Raises BadParameter where they were asked for and would not be shown."""
        if self.logprobs is not None:
            raise BadParameter("--logprobs", why)
