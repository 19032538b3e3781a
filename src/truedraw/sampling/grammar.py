"""Guided generation: only tokens that keep the text inside a grammar are possible, and it ends where the grammar may.

    p'(x | c) = p(x | c) m(x | c) / sum_y p(y | c) m(y | c),   m(x | c) = 1 where c x can still become a whole text

The mask m is llguidance's (github.com/guidance-ai/llguidance), for a Lark or GBNF grammar, a JSON schema or a regular
expression. This law is the target, by definition. It is not the model's law given that the text matches: that would
weigh every token by the chance that the free model goes on to match, which nobody can compute.

Where the grammar leaves only certain bytes, llguidance also asks for the tokens in which the model's own tokenizer
would write them, so that one token is possible there: it is forced.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread
from typing import Any, Protocol

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import Floats
from truedraw.sampling.edits import NOTHING, UNEDITED, Bits, Edits
from truedraw.sampling.grammar_text import compiling, definition, in_one_line, limits
from truedraw.sampling.row import Row
from truedraw.sampling.step import FixedEdits, Step
from truedraw.sampling.truncate import Mask

PARAMETERS = ("grammar", "json_schema", "regex")
"""At most one of them is given."""

PATIENCE = 30.0  # seconds that the first mask of a grammar may take
ENDLESS: set[str] = set()  # grammars of which it took longer, in this process: each is still being looked at

ENDS = 'a rule that always comes to itself again, as in `start: "x" start`, has no end: give it one'
NO_TOKEN = f"the model has no token that goes on with it, or none of just the bytes that must come next; or {ENDS}"
REASONS = {
    "NoExtension": NO_TOKEN,
    "NoExtensionBias": NO_TOKEN,
}
"""Names that llguidance gives to what stopped it, in words."""
AT_A_LIMIT = ("TooComplex", "Too many items", "max is")  # signs that a limit stopped it, see grammar_text.limits
TOO_LARGE = "too many expressions"  # of another: of what it has put together for its terminals


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
        """One token further. After an illegal token or the end nothing is banned: no text goes on there.

        llguidance also says no to a legal token, where what follows is too complex for it: the text is stuck there.
        """
        matcher = self.matcher.deep_copy()
        if token in self.end_ids or not (matcher.consume_token(token) or self._allows(token)):
            return OVER
        return Grammar(self.parameter, matcher, self.end_ids)

    def _allows(self, token: int) -> bool:
        """Whether it is legal, as far as that can be told: what is stuck by now may have allowed it before."""
        try:
            return bool(self.legal()[token])
        except BadParameter:
            return True

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

    given = definition(parameter, text)
    matcher = compiling(parameter, given, lambda: LLMatcher(tokenizer, given, log_level=0, limits=limits()))
    if matcher.is_error():
        raise BadParameter(parameter, f"it does not compile: {in_one_line(matcher.get_error())}")
    grammar = Grammar(parameter, matcher, end_ids)
    within_reason(grammar, text)
    return grammar


def within_reason(grammar: Grammar, text: str) -> None:
    """See to it that there is a mask, and soon: llguidance may look for one for ever, and nothing can stop it.

    text: what the grammar was made of, so that it is not tried again.
    """
    if text in ENDLESS:
        raise _endless(grammar.parameter)
    wrong: list[Exception] = []

    def look() -> None:
        try:
            grammar.legal()
        except Exception as error:
            wrong.append(error)

    thread = Thread(target=look, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        ENDLESS.add(text)
        raise _endless(grammar.parameter)
    if wrong:
        raise wrong[0]


def _endless(parameter: str) -> BadParameter:
    return BadParameter(
        parameter,
        f"its first tokens were not found within {PATIENCE:g} s; a terminal that could take all of the one behind it, "
        "as in `start: A A` with `A: /a+/`, never ends: write the two as one",
    )


def stuck(parameter: str, matcher: Matcher) -> BadParameter:
    """The error of a matcher that has one."""
    reason = in_one_line(matcher.get_error())
    if any(sign in reason for sign in AT_A_LIMIT):
        return BadParameter(
            parameter,
            f"there are too many ways to read the text so far for the parser to go on ({reason}); write what repeats "
            f"with * or +, so that each text can be read in one way; or {ENDS}",
        )
    if TOO_LARGE in reason:
        return BadParameter(parameter, f"it is too large for the parser to go on ({reason}); repeat or list less in it")
    words = REASONS.get(reason, reason)
    return BadParameter(parameter, f"no text can satisfy it here: {words}; change the {parameter}")
