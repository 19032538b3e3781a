"""What a rule decided, as the loop takes it: the rule may be somebody else's, and JSON has none of numpy's numbers."""

from __future__ import annotations

from operator import index

from truedraw.errors import TruedrawError
from truedraw.protocol import Proposal, Verdict, Verifier


def believed(verdict: Verdict, proposal: Proposal, vocab_size: int, rule: Verifier) -> Verdict:
    """The verdict of `rule`, of Python's own numbers.

    Raises TruedrawError for one that no proposal of this size can get.
    """
    if not isinstance(verdict, Verdict):
        raise TruedrawError(f"{_called(rule)} gave {verdict!r:.120}; give a Verdict")
    tokens, kept = verdict.tokens, verdict.num_accepted
    if type(tokens) is not tuple or type(verdict.rejected) is not bool or {type(kept), *map(type, tokens)} != {int}:
        verdict = _of_ints(verdict, rule)
        tokens, kept = verdict.tokens, verdict.num_accepted
    if not 0 <= kept <= len(proposal) or len(tokens) != kept + 1:
        raise TruedrawError(
            f"{_called(rule)} accepted {kept} of {len(proposal)} drafts and gave {len(tokens)} tokens; give one more "
            "than were accepted"
        )
    if min(tokens) < 0 or max(tokens) >= vocab_size:
        raise TruedrawError(f"{_called(rule)} gave the tokens {tokens}; the target's are 0 to {vocab_size - 1}")
    return verdict


def _of_ints(verdict: Verdict, rule: Verifier) -> Verdict:
    """The same of Python's numbers; raises TruedrawError where they are no numbers."""
    try:
        tokens, kept = tuple(map(index, verdict.tokens)), index(verdict.num_accepted)
    except TypeError as error:
        raise TruedrawError(f"{_called(rule)} gave {verdict!r:.120}; give a Verdict of whole numbers") from error
    return Verdict(tokens, kept, bool(verdict.rejected), verdict.coupled)


def _called(rule: Verifier) -> str:
    """A plug-in's by its name, any other by its class."""
    return f"the rule {getattr(rule, 'name', type(rule).__name__)!r}"
