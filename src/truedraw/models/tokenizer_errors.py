"""What the tokenizers package raises, as errors of truedraw's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from truedraw.errors import TruedrawError
from truedraw.handlers import pass_on

PANIC = "PanicException"  # of Rust code that broke down: no Exception, and of a class that cannot be imported


@contextmanager
def raising(refusal: Callable[[str], TruedrawError]) -> Iterator[None]:
    """Raises the refusal that is made of the package's own words, be it a bare Exception or a panic."""
    try:
        yield
    except MemoryError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        pass_on(error)
        raise refusal(str(error) or type(error).__name__) from error
