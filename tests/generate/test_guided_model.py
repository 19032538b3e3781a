"""Guided generation and contrastive decoding on the real model: what comes out is what was asked for."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from invariance import need_invariance
from truedraw import Model, load
from truedraw.errors import BadParameter
from truedraw.generate.contrast import contrast

pytestmark = pytest.mark.model

COMPACT = {"x-guidance": {"whitespace_flexible": False}}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["grün", "青い", "\U0001f534", 'quo"te\\']}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
NESTED = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"v": {"enum": [-1.5e-7, None, True]}},
            "required": ["v"],
            "additionalProperties": False,
        }
    },
    "type": "object",
    "properties": {
        "kind": {"const": "naïve \u2028 日本 <|im_end|>"},
        "left": {"$ref": "#/$defs/node"},
        "when": {"type": "string", "format": "date"},
    },
    "required": ["kind", "left", "when"],
    "additionalProperties": False,
}
SCHEMAS = {"person": PERSON | COMPACT, "nested": NESTED | COMPACT, "loose": PERSON}
REGEXES = [r"\d{4}-\d{2}-\d{2}", r"(yes|no|maybe)( and (yes|no))*\.", r"[α-ω]{3,8}[!?]", r"( ?(foo|bar)){2,5}"]
TEMPERATURES = (0.0, 0.7, 1.5)


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


def both_ways(model: Model, prompt: str, **settings):
    """The same seed plainly and with drafts: one text."""
    plain = model.generate(prompt, speculative=False, **settings)
    fast = model.generate(prompt, speculative={"adaptive": False, "prompt_lookup_min": 1}, **settings)
    assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
    assert [c.logprobs for c in fast.choices] == [c.logprobs for c in plain.choices]
    return fast


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("name", SCHEMAS)
def test_json_parses_and_validates(model: Model, name: str, temperature: float) -> None:
    schema, ended = SCHEMAS[name], 0
    for seed in range(2):
        settings = {"temperature": temperature, "seed": seed, "max_tokens": 90, "n": 2}
        result = both_ways(model, "A JSON record of one person:\n", json_schema=schema, **settings)
        for choice in result.choices:
            if choice.finish_reason == "stop":
                jsonschema.validate(json.loads(choice.text), schema)
                ended += 1
            else:
                assert (choice.finish_reason, len(choice.tokens)) == ("length", 90)
    assert ended or name == "loose" or temperature == 1.5


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("regex", REGEXES)
def test_text_matches_the_regular_expression(model: Model, regex: str, temperature: float) -> None:
    result = both_ways(model, "Answer:", regex=regex, temperature=temperature, seed=4, n=3, max_tokens=60)
    for choice in result.choices:
        if choice.finish_reason == "stop":
            assert re.fullmatch(regex, choice.text)
            assert choice.tokens[-1] in model.tokenizer.eos_ids
        else:
            assert choice.finish_reason == "length"


def test_a_text_cut_by_the_limit_is_a_beginning(model: Model) -> None:
    whole = model.generate("Person:", json_schema=SCHEMAS["person"], temperature=0, max_tokens=100).choices[0]
    cut = model.generate("Person:", json_schema=SCHEMAS["person"], temperature=0, max_tokens=7).choices[0]
    assert (cut.finish_reason, len(cut.tokens)) == ("length", 7)
    assert cut.tokens == whole.tokens[:7]


def test_a_grammar_that_leaves_one_text_costs_one_pass(model: Model) -> None:
    text = "The quick brown fox, naïve as ever, jumps over 日本 <|im_end|> twice."
    result = model.generate("Say: ", grammar=f"start: {json.dumps(text)}", speculative=False)
    choice = result.choices[0]
    assert (choice.text, choice.finish_reason) == (text, "stop")
    assert result.stats.forced > 15
    assert result.stats.rounds <= 3  # the last tokens of a word may be spelled in several ways
    assert result.stats.drafted == result.stats.accepted == 0


def test_forced_tokens_save_passes_and_count_for_nobody(model: Model) -> None:
    result = model.generate("Person:", json_schema=SCHEMAS["person"], temperature=0.7, seed=1, speculative=False)
    stats = result.stats
    assert stats.forced == sum(origin == "forced" for origin in result.choices[0].origins) > 5
    assert stats.rounds == stats.tokens - stats.forced + (result.choices[0].origins[-1] == "forced")
    assert stats.drafted == stats.accepted == 0


def test_what_the_other_parameters_forbid_is_named(model: Model) -> None:
    with pytest.raises(BadParameter, match="allowed_token_ids") as error:
        model.generate("Hi", regex="a+", allowed_token_ids=model.tokenizer.encode("z"))
    assert error.value.parameter == "regex"


@pytest.mark.slow
def test_contrast_with_itself_at_a_lower_precision(model: Model) -> None:
    amateur, expert = load("smollm2-135m", weights="int8"), load("smollm2-135m", weights="stored")
    need_invariance(expert.engine)
    prompt = "The lighthouse keeper looked at the sea. The lighthouse keeper"
    with contrast(expert, amateur, alpha=0.05, beta=0.5) as both:
        result = both_ways(both, prompt, seed=3, n=2, max_tokens=25, temperature=0.9)
        free = model.generate(prompt, seed=3, n=2, max_tokens=25, temperature=0.9)
        assert {c.tokens for c in result.choices} != {c.tokens for c in free.choices}
    lenient = contrast(load("smollm2-135m", weights="stored"), load("smollm2-135m", weights="int8"), alpha=1e-12)
    with lenient as both:
        text = both.generate(prompt, regex=r" [a-z]{1,9} [a-z]{1,9}\.", seed=1, max_tokens=30).text
        assert re.fullmatch(r" [a-z]{1,9} [a-z]{1,9}\.", text)


@pytest.mark.parametrize("drafted", [False, True])
def test_a_grammar_may_name_a_token_of_the_models(model, drafted: bool) -> None:
    speculative = {"method": "head", "num_speculative_tokens": 2} if drafted else False
    found = model.generate(
        "Answer:", grammar='start: ("yes" | "no") <|im_start|> "!"', max_tokens=9, seed=3, speculative=speculative
    )
    (choice,) = found.choices
    assert choice.tokens[-3:] == (1, *model.tokenizer.encode("!", add_special=False), 2)
    with pytest.raises(BadParameter, match="99999"):
        model.generate("Answer:", grammar="start: <[99999]>", max_tokens=9)


def test_a_grammar_of_one_text_tells_how_likely_it_is(model):
    prompt, text = "Paris is the capital", ' of France, "naïve" \\ 日本 \U0001f534\n'
    choice = model.generate(prompt, grammar="start: " + json.dumps(text), max_tokens=100).choices[0]
    before, ids = model.tokenizer.encode(prompt), model.tokenizer.encode(text, add_special=False)
    assert (choice.text, list(choice.tokens[:-1])) == (text, ids)
    for i, token in enumerate(ids):
        alone = model.generate([*before, *ids[:i]], allowed_token_ids=[token], max_tokens=1)
        assert alone.choices[0].logprobs[0] == choice.logprobs[i]
