"""Guided generation: only tokens that keep the text inside a grammar are possible, and it ends where the grammar may.

    p'(x | c) = p(x | c) m(x | c) / sum_y p(y | c) m(y | c),   m(x | c) = 1 where c x can still become a whole text

The mask m is llguidance's (github.com/guidance-ai/llguidance), for a Lark or GBNF grammar, a JSON schema or a regular
expression. This law is the target, by definition. It is not the model's law given that the text matches: that would
weigh every token by the chance that the free model goes on to match, which nobody can compute.

Where the grammar leaves only certain bytes, llguidance also asks for the tokens in which the model's own tokenizer
would write them, so that one token is possible there: it is forced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from truedraw.errors import BadInput, BadParameter
from truedraw.protocol import Floats
from truedraw.sampling.edits import NOTHING, UNEDITED, Bits, Edits
from truedraw.sampling.row import Row
from truedraw.sampling.step import FixedEdits, Step
from truedraw.sampling.truncate import Mask
from truedraw.sampling.values import not_json, shown, whole_number

PARAMETERS = ("grammar", "json_schema", "regex")
"""At most one of them is given."""

REASONS = {
    "NoExtension": "the model has no token that goes on with it",
    "NoExtensionBias": "the model has no token that goes on with it",
    "ParserTooComplex": "it is too complex",
    "LexerTooComplex": "it is too complex",
}
"""Names that llguidance gives to what stopped it, in words."""

QUOTED = re.compile(r"\d+ \|")  # a line number and a line of the grammar


class Matcher(Protocol):
    """What is used of llguidance.LLMatcher: the state of a text in a grammar, changed by `consume_token`."""

    def deep_copy(self) -> Matcher:
        """Another matcher in the same state; costs no more than a method call."""
        ...

    def consume_token(self, sampled_token: int) -> bool:
        """Go on by a token; False where it is illegal, and the matcher is of no use then."""
        ...

    def compute_bitmask(self) -> bytes:
        """One bit a token, lowest first."""
        ...

    def is_error(self) -> bool:
        """Whether the grammar got stuck."""
        ...

    def get_error(self) -> str:
        """Why."""
        ...


@dataclass(frozen=True, slots=True)
class Grammar:
    """The mask of one place. `matcher` is read and copied here, never moved on."""

    parameter: str
    matcher: Matcher
    end_ids: frozenset[int]

    def __call__(self, row: Row) -> None:
        """Ban what is illegal; raises BadParameter as `bits`."""
        row.edit(UNEDITED.allowing(self.bits()), self.parameter)

    def edited(self, edits: Edits) -> Edits:
        """As Editing; where the grammar is stuck, nothing is allowed."""
        try:
            return edits.allowing(self.bits())
        except BadParameter:
            return edits.allowing(NOTHING)

    def legal(self, vocab_size: int | None = None) -> Mask:
        """The mask [vocab_size]; raises BadParameter as `bits`."""
        return np.unpackbits(self.bits(), count=vocab_size, bitorder="little").view(np.bool_)

    def bits(self) -> Bits:
        """The mask; raises BadParameter where the grammar is stuck, or too complex for llguidance."""
        bits = np.frombuffer(self.matcher.compute_bitmask(), dtype=np.uint8)
        if self.matcher.is_error():
            raise stuck(self.parameter, self.matcher)
        return bits

    def after(self, token: int, p: Floats | None) -> Step:
        """One token further. After an illegal token or the end nothing is banned: no text goes on there."""
        matcher = self.matcher.deep_copy()
        if token in self.end_ids or not matcher.consume_token(token):
            return OVER
        return Grammar(self.parameter, matcher, self.end_ids)

    def forced(self, limit: int) -> tuple[int, ...]:
        """At most `limit` tokens that must come next, the end token included."""
        tokens: list[int] = []
        here: Step = self
        while len(tokens) < limit and isinstance(here, Grammar) and (token := here.only()) is not None:
            tokens.append(token)
            here = here.after(token, None)
        return tuple(tokens)

    def only(self) -> int | None:
        """The token that must come here, None where there is a choice or nothing left: the text may end before."""
        try:
            legal = self.legal()
        except BadParameter:
            return None
        return int(legal.argmax()) if np.count_nonzero(legal) == 1 else None


OVER = FixedEdits(lambda edits: edits)
"""Behind the end: nothing is banned."""


def opened(parameter: str, text: str, tokenizer: Any, end_ids: frozenset[int]) -> Grammar:
    """The step before the first token; `tokenizer` is an llguidance.LLTokenizer. Raises BadParameter."""
    from llguidance import LLMatcher

    matcher = LLMatcher(tokenizer, definition(parameter, text), log_level=0)
    if matcher.is_error():
        raise BadParameter(parameter, f"it does not compile: {in_one_line(matcher.get_error())}")
    grammar = Grammar(parameter, matcher, end_ids)
    grammar.legal()
    return grammar


def check_grammar(parameter: str, text: str) -> None:
    """Compile it without a model; raises BadParameter with llguidance's message."""
    from llguidance import LLMatcher

    if message := LLMatcher.validate_grammar(definition(parameter, text)):
        raise BadParameter(parameter, f"it does not compile: {in_one_line(message)}")


def definition(parameter: str, text: str) -> str:
    """llguidance's own form of what the user wrote."""
    from llguidance import grammar_from

    forms: dict[str, Any] = {"grammar": "gbnf", "json_schema": "json_schema", "regex": "regex"}
    try:
        return grammar_from(forms[parameter], text)
    except ValueError as error:
        raise BadParameter(parameter, f"it does not compile: {in_one_line(str(error))}") from error


def schema_text(schema: Any) -> str:
    """JSON text of a schema given as a mapping, a boolean (both are schemas) or JSON; raises BadParameter."""
    name = "json_schema"
    try:
        parsed = json.loads(schema, parse_int=whole_number) if isinstance(schema, str) else schema
        if isinstance(parsed, Mapping | bool):
            return json.dumps(dict(parsed) if isinstance(parsed, Mapping) else parsed, allow_nan=False)
    except BadInput as error:
        raise BadParameter(name, str(error)) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise BadParameter(
            name, f"it is not JSON ({not_json(error)}); give a schema as a mapping or as JSON text"
        ) from error
    raise BadParameter(name, f'got {shown(schema)}; give an object, for instance {{"type": "object"}}')


def stuck(parameter: str, matcher: Matcher) -> BadParameter:
    """The error of a matcher that has one."""
    reason = in_one_line(matcher.get_error())
    words = REASONS.get(reason, reason)
    return BadParameter(parameter, f"no text can satisfy it here: {words}; change the {parameter}")


def in_one_line(message: str) -> str:
    """llguidance's message without its internal state, the quoted source and the carets below that."""
    lines = [line.strip() for line in message.partition("<state>")[0].splitlines()]
    return " ".join(line for line in lines if line.strip("^ ") and not QUOTED.match(line))
