"""Every error that truedraw raises on purpose.

TruedrawError
├── BadInput               what the caller gave cannot be used (also a ValueError)
│   ├── BadParameter       a sampling or speculation parameter: `.parameter` names it
│   ├── BadPrompt          an empty prompt, one longer than the model's context, or one that its template refuses
│   ├── BadFile            a file that is missing, unreadable, or not what it should be
│   │   └── BadModelFile   a model file that is broken, truncated or incomplete
│   ├── UnknownModel       a name that is neither in the catalogue, nor a path, nor on the hub
│   ├── UnsupportedModel   an architecture or a tokenizer that no engine here can run
│   └── UnknownName        a drafter, verifier or engine that is not registered
├── BadProposal            a drafter handed over what no rule can verify (also a ValueError): an illegal law or tree
├── TrainingError          a training went astray; what was good before is kept
├── PullError              a model could not be fetched: no network, no space, wrong checksum
└── EngineError            the engine cannot do what was asked: a closed sequence, an unknown token
    └── OutOfPages         the cache has no room for a pass: fewer or shorter texts at once, or more memory

A message says what was given, what is allowed and what to do. NotInvariant is a warning, no error.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


class TruedrawError(Exception):
    """The root: catch this to catch everything truedraw raises on purpose. The command line exits with 2 for any."""


class BadInput(TruedrawError, ValueError):
    """What the caller gave cannot be used."""


class BadParameter(BadInput):
    """A parameter outside its range; `parameter` is its public name, `reason` what is wrong with it."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(f"{parameter}: {message}")
        self.parameter, self.reason = parameter, message

    def __reduce__(self) -> tuple[type, tuple[str, str], dict[str, Any]]:
        """As it was made, with its notes: an error may have to go from one process to another."""
        return type(self), (self.parameter, self.reason), vars(self)


class BadPrompt(BadInput):
    """A prompt that cannot be continued."""


class BadFile(BadInput):
    """A file that is missing, unreadable, or not what it should be."""


class BadModelFile(BadFile):
    """A model file that is broken, truncated or incomplete."""


class UnknownModel(BadInput):
    """A model name that resolves to nothing."""


class UnsupportedModel(BadInput):
    """An architecture or a tokenizer that no engine here can run."""


class UnknownName(BadInput):
    """A name that the registry does not hold."""


class BadProposal(TruedrawError, ValueError):
    """A proposal that breaks its contract: a law that is no probability vector, a tree out of order, an unknown id."""


class TrainingError(TruedrawError):
    """A training went astray; what was good before is kept."""


class PullError(TruedrawError):
    """A model could not be fetched; the cache is as it was before."""


class EngineError(TruedrawError):
    """The engine cannot do what was asked."""


class OutOfPages(EngineError):
    """The cache has no room for a pass; nothing was changed."""


class NotInvariant(UserWarning):
    """A loaded model's probabilities depend on what else is computed beside a token, in their last bits or more."""


def error_of(error: TruedrawError) -> dict[str, str]:
    """An error as JSON: its kind, its text, and the parameter where it is about one."""
    named = {"param": error.parameter} if isinstance(error, BadParameter) else {}
    return {"type": type(error).__name__, "message": str(error), **named}


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Behind the name of nothing, what was meant by it; empty where none of these is near."""
    from difflib import get_close_matches  # for errors alone

    near = get_close_matches(str(name), known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def in_words(error: BaseException) -> str:
    """Its kind, what it says, and what was noted on its way; somebody else's may fail at saying anything."""
    kind = type(error).__name__
    try:
        return f"{kind}: {error}" + "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    except Exception:
        return f"{kind}, which does not say why"


def place_of(error: BaseException) -> str:
    """Where it was raised, so that whoever reads it knows whose part did: a file's name, a line and a function."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nobody knows where"
    code = trace.tb_frame.f_code
    return f"in {Path(code.co_filename).name}, line {trace.tb_lineno}, {code.co_qualname}"
