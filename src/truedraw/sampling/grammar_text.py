"""A grammar as the user wrote it, in llguidance's own form, and what is refused before anything is sampled."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from truedraw.errors import BadInput, BadParameter
from truedraw.sampling.gbnf import to_lark
from truedraw.sampling.ranges import check_utf8
from truedraw.sampling.values import not_json, once_each, once_each_at, shown
from truedraw.threads.roomy import with_stack

Found = TypeVar("Found")

MOST = 2**63 - 1  # what llguidance, which reads numbers as float64, writes for all that are larger
COMPARED = ("const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
NAMED = ("properties", "patternProperties", "$defs", "definitions")  # with names of the user's for keys
REMARKS = ("default", "example", "examples", "$comment")  # keywords of a schema that nobody reads
LONGEST_SAID = 400  # characters of a message
SHORT = 2048  # characters of a definition, for which any thread's stack is enough
USUAL_STACK = 8 << 20  # bytes
STACK_PER_CHARACTER = 1024  # bytes; a rule takes up to 5 kB, and has 8 characters at least
DEEPER = ":([{"  # each rule, group and object of a schema that holds another has one of these at least
STACK_PER_DEPTH = 8192  # bytes
QUOTED = re.compile(r"\d+ \|")  # a line number and a line of the grammar
UNCHECKED = "no tokenizer - can't validate"  # of a token that a grammar names
RULE = re.compile(r"^[ \t]*[\w-]+\s*::=", re.MULTILINE)  # of GBNF
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')  # of Lark
ASIDE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/(?:\\.|[^/\\\n])+/|#[^\n]*|(?P<json>%json\s*)')  # no rules of Lark
HEATED = re.compile(r"^[ \t]*[?!]?[\w-]+[ \t]*\[[^\]\n]*\btemperature\s*=", re.MULTILINE)  # a rule of Lark


def check_grammar(parameter: str, text: str) -> None:
    """Compile it without a model; raises BadParameter with llguidance's message, also for what it would leave out.

    Which tokens there are is found out with the model.
    """
    from llguidance import LLMatcher

    given = definition(parameter, text)
    failed, messages = compiling(
        parameter, given, lambda: LLMatcher.validate_grammar_with_warnings(given, limits=limits())
    )
    if failed:
        raise BadParameter(parameter, f"it does not compile: {in_one_line(' '.join(messages))}")
    if left_out := [each for each in messages if not each.startswith(UNCHECKED)]:
        raise BadParameter(
            parameter, f"a part of it would be left out: {in_one_line(' '.join(left_out))}; take that out of it"
        )


def compiling(parameter: str, given: str, call: Callable[[], Found]) -> Found:
    """What llguidance makes of a definition: it goes down a chain of rules as deep as that is."""
    if len(given) <= SHORT:
        return call()
    try:
        return with_stack(USUAL_STACK + _stack_for(given), call)
    except MemoryError as error:
        raise BadParameter(
            parameter, f"it does not compile: it has {len(given)} characters, more than there is memory for"
        ) from error


def _stack_for(given: str) -> int:
    """Bytes at most: long lists and remarks are not deep."""
    return min(len(given) * STACK_PER_CHARACTER, sum(map(given.count, DEEPER)) * STACK_PER_DEPTH)


def limits() -> Any:
    """How complex a grammar may be, as llguidance.LLParserLimits: thousands of words may be possible at one place.

    A mask takes half a second at most then, as measured for texts that can be read in ever more ways.
    """
    from llguidance import LLParserLimits

    return LLParserLimits(max_items_in_row=50_000, step_max_items=250_000)


def definition(parameter: str, text: str) -> str:
    """llguidance's own form of what the user wrote."""
    from llguidance import grammar_from

    forms: dict[str, Any] = {"grammar": "lark", "json_schema": "json_schema", "regex": "regex"}
    given = _lark(text) if parameter == "grammar" else text
    try:
        return grammar_from(forms[parameter], given)
    except ValueError as error:
        raise BadParameter(parameter, f"it does not compile: {in_one_line(str(error))}") from error


def schema_text(schema: Any) -> str:
    """JSON text of a schema given as a mapping, a boolean (both are schemas) or JSON; raises BadParameter."""
    text = _json(schema)
    if text is None:
        of_class = ", of a class of pydantic its model_json_schema()" if isinstance(schema, type) else ""
        said = f'got {shown(schema)}; give an object, for instance {{"type": "object"}}{of_class}'
        raise BadParameter("json_schema", said)
    parsed = json.loads(text)
    check_utf8("json_schema", json.dumps(parsed, ensure_ascii=False))
    _check_integers("json_schema", parsed)
    return text


def _json(schema: Any) -> str | None:
    """None where it is JSON of something else."""
    try:
        parsed = once_each(schema) if isinstance(schema, str) else schema
        if isinstance(parsed, Mapping | bool):
            return json.dumps(dict(parsed) if isinstance(parsed, Mapping) else parsed, allow_nan=False)
    except BadInput as error:
        raise BadParameter("json_schema", str(error)) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise BadParameter(
            "json_schema", f"it is not JSON ({not_json(error)}); give a schema as a mapping or as JSON text"
        ) from error
    return None


def in_one_line(message: str) -> str:
    """llguidance's message without its internal state, the quoted source and the carets below that; of one that
    repeats a long source, beginning and end."""
    said = message.partition("<state>")[0].partition("<backtrace>")[0]
    lines = [line.strip() for line in said.splitlines()]
    whole = " ".join(line for line in lines if line.strip("^ ") and not QUOTED.match(line))
    return whole if len(whole) <= LONGEST_SAID else f"{whole[: LONGEST_SAID // 2]} … {whole[-LONGEST_SAID // 2 :]}"


def _check_integers(parameter: str, schema: Any) -> None:
    for number in _compared(schema):
        if max(-MOST, min(int(float(number)), MOST)) != number:
            raise BadParameter(
                parameter,
                f"got the integer {shown(number)}, which would be rounded: numbers are float64 here, exact up to "
                "2**53; give a pattern of a string for longer ones",
            )


def _compared(schema: Any) -> Iterator[int]:
    """The integers that a text is compared with: not those of keywords that say nothing of it."""
    waiting = [(schema, False, False)]  # a value, whether its integers count, and whether its keys are names
    while waiting:
        value, counts, names = waiting.pop()
        if isinstance(value, int) and counts:
            yield value
        elif isinstance(value, list):
            waiting += [(each, counts, False) for each in value]
        elif isinstance(value, dict):
            read = [key for key in value if names or counts or not (key in REMARKS or key.startswith("x-"))]
            waiting += [(value[key], counts or (key in COMPARED and not names), key in NAMED) for key in read]


def _lark(text: str) -> str:
    """Lark as it is, or of GBNF."""
    if not RULE.search(text):
        _check_heat(text)
        for schema in _schemas(text):
            _check_integers("grammar", schema)
        return text
    try:
        return to_lark(text)
    except ValueError as error:
        raise BadParameter("grammar", f"it does not compile: the GBNF cannot be read: {error}") from error


def _schemas(lark: str) -> Iterator[Any]:
    """The JSON schemas within Lark; of what is no JSON llguidance tells."""
    at = 0
    while found := ASIDE.search(lark, at):
        at = found.end()
        if found["json"]:
            try:
                schema, at = once_each_at(lark, at)
            except BadInput as error:
                raise BadParameter("grammar", str(error)) from error
            except (ValueError, RecursionError):
                continue
            yield schema


def _check_heat(text: str) -> None:
    if HEATED.search(STRING.sub('""', text)):
        raise BadParameter(
            "grammar", "got a rule with a temperature of its own, which would be ignored; take it out of the rule"
        )
