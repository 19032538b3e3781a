"""What stands around every run of torch: the number of threads, errors of the device, and silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from truedraw.errors import EngineError

NOT_ALLOCATED = "can't allocate memory"
"""In what torch says where the memory of the processor is too small."""


@contextmanager
def running(threads: int | None) -> Iterator[None]:
    """With so many threads, which torch counts for the whole process, and as many as before behind it; None: those.

    Raises EngineError where the device runs out of memory.
    """
    import torch

    before = torch.get_num_threads()
    try:
        if threads is not None:
            torch.set_num_threads(threads)
        yield
    except RuntimeError as error:  # which torch.OutOfMemoryError is
        if not (isinstance(error, torch.OutOfMemoryError) or NOT_ALLOCATED in str(error)):
            raise
        raise EngineError(
            f"the device is out of memory ({str(error).splitlines()[0]}); run fewer or shorter texts at once, lower "
            "cache_bytes, take a smaller dtype, or train a smaller draft (--hidden)"
        ) from error
    finally:
        if threads is not None:
            torch.set_num_threads(before)


@contextmanager
def quiet() -> Iterator[None]:
    """Neither bars nor reports of transformers: what is wrong is raised."""
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
