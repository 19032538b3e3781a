"""The step of a grammar: what is legal, how it forks, where it ends, and grammars that cannot be."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from guided import END, TOKENS, Words, legal_after, llguidance_step
from truedraw import load
from truedraw.errors import BadParameter
from truedraw.sampling import grammar, grammar_text
from truedraw.sampling.grammar import OVER, Grammar
from truedraw.sampling.grammar_text import check_grammar
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.step import Opening

A, B, C = 0, 1, 2


def legal(step) -> list[int]:
    return np.flatnonzero(step.legal(4)).tolist()


def walk(step, tokens):
    for token in tokens:
        step = step.after(token, None)
    return step


def law_of(step, **params) -> SamplingLaw:
    return SamplingLaw(SamplingParams(**params), Opening((A,), 4, (END,), masks=(step,)))


@pytest.mark.parametrize(
    ("regex", "text", "expected"),
    [
        ("a(b|c)", (), [A]),
        ("a(b|c)", (A,), [B, C]),
        ("a(b|c)", (A, C), [END]),
        ("ab*", (A, B), [B, END]),
        ("", (), [END]),
    ],
)
def test_the_text_ends_where_the_grammar_may_and_must(regex: str, text, expected) -> None:
    assert legal(walk(llguidance_step("regex", regex), text)) == expected


@pytest.mark.parametrize("text", [(B,), (A, A), (A, B, B), (A, B, END)])
def test_nothing_is_banned_where_no_text_can_go_on(text) -> None:
    assert walk(llguidance_step("regex", "ab"), text) is OVER


def test_a_fork_changes_nothing_and_a_mask_has_no_history() -> None:
    """Branches opened in any order, masks and forced tokens asked for in between: always what a fresh text gives."""
    root = llguidance_step("regex", "(ab|a(c|bb)+|b[abc]{2,5})+")
    rng = random.Random(5)
    nodes = [((), root)]
    for _ in range(300):
        text, step = rng.choice(nodes)
        rng.choice([step.legal, lambda s=step: s.forced(5), lambda: None])()
        token = rng.choice(legal(step))
        if token != END:
            nodes.append(((*text, token), step.after(token, None)))
    assert max(len(text) for text, _ in nodes) > 6
    for text, step in nodes:
        assert set(legal(step)) == legal_after(root, text, 4)


def test_forced_tokens_are_those_without_an_alternative() -> None:
    step = llguidance_step("regex", "abc(a|b)c")
    assert step.forced(9) == (A, B, C)
    assert step.forced(2) == (A, B)
    assert walk(step, (A, B, C)).forced(9) == ()
    assert walk(step, (A, B, C, B)).forced(9) == (C, END)
    assert law_of(step).forced(9) == (A, B, C)
    assert SamplingLaw(SamplingParams()).forced(9) == ()


def test_the_mask_stands_between_penalties_and_temperature() -> None:
    logits = np.array([1.0, 0.5, 9.0, 3.0], dtype=np.float32)
    law = law_of(llguidance_step("regex", "(a|b)+"), temperature=2.0, logit_bias={B: 2.0}, min_p=0.1)
    expected = np.exp(np.array([0.5, 1.25]))
    assert law(logits)[:2] == pytest.approx(expected / expected.sum(), abs=1e-12)
    assert law(logits)[2:].tolist() == [0.0, 0.0]
    assert law.after(B)(logits)[END] > 0


def test_json_schemas_are_taken_as_mappings_and_as_text() -> None:
    schema = {"type": "object", "properties": {"ü": {"enum": ["日本", "\U0001f40d"]}}}
    texts = {SamplingParams(json_schema=given).json_schema for given in (schema, json.dumps(schema))}
    assert [json.loads(text) for text in texts] == [schema]
    assert SamplingParams(json_schema=True).json_schema == "true"


@pytest.mark.parametrize(
    ("given", "parameter", "words"),
    [
        ({"regex": "a("}, "regex", "unclosed group"),
        ({"regex": 5}, "regex", "give a text"),
        ({"regex": None, "json_schema": "{"}, "json_schema", "not JSON"),
        ({"json_schema": "[1]"}, "json_schema", "give an object"),
        ({"json_schema": {"const": "\ud800"}}, "json_schema", "not UTF-8 at"),
        ({"json_schema": '{"properties": {"\\ud83dx": true}}'}, "json_schema", "not UTF-8 at"),
        ({"json_schema": {"type": {1, 2}}}, "json_schema", "not JSON"),
        ({"json_schema": {"minimum": float("nan")}}, "json_schema", "not JSON"),
        ({"json_schema": {"type": "wibble"}}, "json_schema", "wibble"),
        ({"json_schema": {"$ref": "#/nowhere"}}, "json_schema", "nowhere"),
        ({"json_schema": False}, "json_schema", "Unsatisfiable"),
        ({"json_schema": {"type": "integer", "minimum": 5, "maximum": 3}}, "json_schema", "greater than maximum"),
        ({"grammar": "start: other"}, "grammar", "other"),
        ({"grammar": ""}, "grammar", "compile"),
        ({"grammar": 'root ::= ("a"'}, "grammar", "compile"),
        ({"grammar": 'start: "a"', "regex": "a"}, "regex", "grammar is given too"),
        ({"json_schema": {}, "regex": "a"}, "regex", "json_schema is given too"),
        ({"regex": "a", "ignore_eos": True}, "ignore_eos", "regex ends the text"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given, parameter: str, words: str) -> None:
    with pytest.raises(BadParameter, match=words) as error:
        SamplingParams(**given)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("regex", ["[a&&b]", "x+"])
def test_a_grammar_that_forbids_everything_is_refused(regex: str) -> None:
    with pytest.raises(BadParameter, match="no text can satisfy it") as error:
        llguidance_step("regex", regex)
    assert error.value.parameter == "regex"
    assert "<state>" not in str(error.value)
    assert "NoExtension" not in str(error.value)
    assert "no token that goes on with it, or none of just the bytes that must come next" in str(error.value)


@pytest.mark.parametrize(("parameter", "others"), [("regex", {"allowed_token_ids": [B]}), ("regex", {"min_tokens": 3})])
def test_parameters_that_leave_nothing_together_are_named(parameter: str, others) -> None:
    law = law_of(llguidance_step(parameter, "a"), **others)
    text = () if "allowed_token_ids" in others else (A,)
    with pytest.raises(BadParameter, match=next(iter(others))) as error:
        walk_law(law, text)(np.zeros(4, dtype=np.float32))
    assert error.value.parameter == parameter


def walk_law(law, tokens):
    for token in tokens:
        law = law.after(token)
    return law


class Limited(Words):
    """It goes no further: every token is too much for it, legal or not."""

    stopped = False

    def deep_copy(self):
        return Limited(self.words, self.text)

    def consume_token(self, sampled_token: int) -> bool:
        super().consume_token(sampled_token)
        self.stopped = True
        return False

    def is_error(self) -> bool:
        return self.stopped

    def get_error(self) -> str:
        return "Too many items"


def test_a_legal_token_that_llguidance_cannot_follow_does_not_end_the_grammar() -> None:
    """The text is stuck there, and does not go on free; what is illegal still leads nowhere."""
    here = Grammar("grammar", Limited(((A, B, END),)), frozenset({END}))
    with pytest.raises(BadParameter, match=r"too many ways to read the text so far .*\(Too many items\)"):
        legal(here.after(A, None))
    assert here.after(C, None) is OVER
    assert here.after(END, None) is OVER


@pytest.mark.parametrize("speculative", [False, True])
def test_a_text_never_leaves_a_grammar_that_becomes_too_complex(speculative: bool) -> None:
    said = r"grammar: there are too many ways to read the text so far .*Too many items.*has no end: give it one"
    with load("tabular") as toy, pytest.raises(BadParameter, match=said):
        toy.generate("the", grammar='start: " cat" start', seed=3, max_tokens=50, speculative=speculative)


def test_a_grammar_without_an_end_is_told_as_such() -> None:
    with pytest.raises(BadParameter, match=r"or a rule that always comes to itself again, .* has no end: give it one"):
        llguidance_step("grammar", "start: a\na: a")


class TooLarge(Words):
    """As llguidance is behind a terminal of a million characters, `a{1000000}`."""

    def is_error(self) -> bool:
        return True

    def get_error(self) -> str:
        return "lexer error: too many expressions constructed"


def test_a_grammar_that_is_too_large_is_not_said_to_have_no_text() -> None:
    with pytest.raises(BadParameter, match=r"it is too large for the parser to go on \(lexer error: too many exp"):
        Grammar("regex", TooLarge(((A, END),)), frozenset({END})).legal()


class Endless(Words):
    """Its masks never come."""

    def __init__(self) -> None:
        super().__init__(((A, END),))
        self.freed = threading.Event()

    def compute_bitmask(self) -> bytes:
        self.freed.wait()
        return super().compute_bitmask()


def test_a_grammar_whose_first_mask_never_comes_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(grammar, "PATIENCE", 0.05)
    matcher = Endless()
    with pytest.raises(BadParameter, match=r"not found within 0.05 s; .*write the two as one"):
        grammar.within_reason(Grammar("grammar", matcher, frozenset({END})), "endless")
    matcher.freed.set()
    grammar.within_reason(Grammar("grammar", matcher, frozenset({END})), "another")
    with pytest.raises(BadParameter, match="write the two as one"):  # it is not tried again
        grammar.within_reason(Grammar("grammar", matcher, frozenset({END})), "endless")
    grammar.ENDLESS.clear()


@pytest.mark.parametrize(
    ("gbnf", "expected"),
    [
        ('root ::= start\nstart ::= "a"', [A]),
        ('root ::= start-x "c"\nstart ::= "b"\nstart-x ::= start', [B]),
        (r'root ::= "\u0061" [\u0062]', [A]),
        (r'root ::= "\U00000062"', [B]),
        ('root ::= start start_x\nstart ::= "a"\nstart_x ::= "b"', [A]),
        (r'root ::= "c" | "\[" | [\-\]]', [C]),
        ('root ::= "a" | (\n  b [temperature=])\nb ::= "b"', [A, B]),
        (r'# start: "b"\nroot ::= "c" | "\u00e9"', [C]),
    ],
)
def test_gbnf_may_have_any_names_and_numbers_of_characters(gbnf: str, expected) -> None:
    assert legal(llguidance_step("grammar", gbnf.replace(r"\n", "\n"))) == expected


@pytest.mark.parametrize("text", [r'start: "a" /[^"]::=/', 'start: "::=" "a"', 'start: "[temperature=1]"'])
def test_lark_is_no_gbnf_for_what_stands_in_its_strings(text: str) -> None:
    check_grammar("grammar", text)


@pytest.mark.parametrize(
    ("parameter", "text", "said"),
    [
        ("grammar", "start: a\na[temperature=0.5]: /[ab]+/", "a temperature of its own, which would be ignored"),
        ("grammar", "start: a\n?a[temperature=1]: /[ab]+/", "a temperature of its own, which would be ignored"),
        ("grammar", 'start: a\na[capture="]", temperature=1]: /b/', "a temperature of its own, which would be ignored"),
        ("json_schema", '{"x-guidance": {"lenient": true}, "not": {}}', r'left out: Unimplemented keys: \["not"\]'),
    ],
)
def test_nothing_of_a_grammar_is_left_out_silently(parameter: str, text: str, said: str) -> None:
    with pytest.raises(BadParameter, match=said) as error:
        SamplingParams(**{parameter: text})
    assert error.value.parameter == parameter


@pytest.mark.parametrize(
    "schema",
    [
        {"const": 2**53 + 1},
        '{"enum": [{"id": [-9007199254740993]}]}',
        {"properties": {"default": {"maximum": 2**63}}},
        {"items": [{"minimum": 10**30}]},
    ],
)
def test_integers_that_would_be_rounded_are_refused(schema) -> None:
    for given in ({"json_schema": schema}, {"grammar": f"start: a /[^%]/\na: %json {text_of(schema)}"}):
        with pytest.raises(BadParameter, match=r"got the integer -?\d+, which would be rounded"):
            SamplingParams(**given)


def text_of(schema) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema)


@pytest.mark.parametrize(
    "lark",
    [
        'start: "x" // %json {"const": 9007199254740993}',
        'start: /x/ # %json {"const": 9007199254740993}',
        r'start: /[^%json {"const": 9007199254740993}]/',
    ],
)
def test_what_only_looks_like_a_schema_within_lark_is_taken(lark: str) -> None:
    SamplingParams(grammar=lark)


def test_a_number_of_a_thousand_digits_within_lark_is_refused() -> None:
    with pytest.raises(BadParameter, match="digits"):
        SamplingParams(grammar=f'start: %json {{"const": {"9" * 5000}}}')


@pytest.mark.parametrize(
    "schema",
    [
        {"const": 2**53},
        {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
        {"enum": [2**60, -(2**60)]},
        {"type": "integer", "default": 2**60 + 1, "examples": [2**60 + 1], "$comment": 2**60 + 1},
        {"type": "array", "items": {"const": 0}, "maxItems": 2**63 - 1},
    ],
)
def test_integers_that_are_not_rounded_or_not_read_are_taken(schema) -> None:
    SamplingParams(json_schema=schema)


def test_gbnf_and_lark_are_both_grammars() -> None:
    gbnf = llguidance_step("grammar", 'root ::= "a" ("b" | root)')
    lark = llguidance_step("grammar", 'start: "a" ("b" | start)')
    for step in (gbnf, lark):
        assert legal(step) == [A]
        assert legal(walk(step, (A,))) == [A, B]
    assert TOKENS[END] == b"<end>"


@pytest.mark.parametrize("text", ['start: "a" <|im_end|> "b"', 'start: "a" <[2]>', "start: <[5-9]>+"])
def test_a_grammar_may_name_tokens_which_only_a_model_has(text: str) -> None:
    assert SamplingParams(grammar=text).grammar == text


def test_and_what_would_be_left_out_is_refused_beside_one() -> None:
    with pytest.raises(BadParameter, match=r"left out: Unimplemented keys: .*not.*; take"):
        SamplingParams(grammar='start: <|im_end|> %json {"x-guidance": {"lenient": true}, "not": {}}')


CHAIN = 8000
CHAINS = {
    "rules": "\n".join(["start: r0", *(f'r{i}: "a" r{i + 1}' for i in range(CHAIN)), f'r{CHAIN}: "b"']),
    "terminals": "\n".join(["start: R0", *(f'R{i}: "a" R{i + 1}' for i in range(CHAIN)), f'R{CHAIN}: "b"']),
}
OPENED = """
import sys
from guided import llguidance_step
from truedraw.sampling.grammar_text import check_grammar
text = sys.stdin.read()
check_grammar("grammar", text)
print(llguidance_step("grammar", text).legal(4).tolist())
"""


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_of_thousands_of_rules_does_not_end_the_process(kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", OPENED], input=CHAINS[kind], text=True, capture_output=True,
                          cwd=Path(__file__).parents[1], check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[True, False, False, False]"


NESTED = "\n".join(["start: r0", *(f"r{i}: {'(' * 20}r{i + 1}{')?' * 20}" for i in range(CHAIN)), f'r{CHAIN}: "b"'])


def test_nor_does_a_chain_of_nested_groups() -> None:
    check = "import sys; from truedraw.sampling.grammar_text import check_grammar as check"
    done = subprocess.run([sys.executable, "-c", f"{check}; check('grammar', sys.stdin.read())"], input=NESTED,
                          text=True, capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_long_remark_in_a_schema_asks_for_no_deep_stack(monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(grammar_text, "with_stack", lambda num_bytes, call: asked.append(num_bytes) or call())
    SamplingParams(json_schema={"type": "integer", "description": "x" * 3_000_000})
    assert max(asked) < 16 << 20


def test_a_schema_with_a_key_that_stands_there_twice_is_refused() -> None:
    with pytest.raises(BadParameter, match=r"^json_schema: properties.a: the key stands there twice"):
        SamplingParams(json_schema='{"properties": {"a": {"type": "integer"}, "a": {"type": "null"}}}')


def test_a_long_source_is_not_repeated_whole() -> None:
    with pytest.raises(BadParameter, match=r"^regex: it does not compile: .* … .*nested parentheses") as told:
        SamplingParams(regex="(" * 5000 + "a" + ")" * 5000)
    assert len(str(told.value)) < 500


def test_nor_is_one_within_lark() -> None:
    with pytest.raises(BadParameter, match=r"^grammar: properties.a: the key stands there twice"):
        SamplingParams(grammar='start: %json {"properties": {"a": {"type": "integer"}, "a": {"type": "null"}}} "x"')


def test_a_class_in_the_place_of_its_schema():
    with pytest.raises(BadParameter, match=r"^json_schema: got .*, of a class of pydantic its model_json_schema\(\)$"):
        SamplingParams(json_schema=dict)
