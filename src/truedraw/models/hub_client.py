"""How huggingface_hub, an optional extra, is spoken with: silent, patient, and with errors of truedraw's own."""

from __future__ import annotations

import errno
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from glob import escape
from io import StringIO
from json import JSONDecodeError
from logging import CRITICAL
from pathlib import Path
from socket import gaierror
from typing import Any

from truedraw.errors import PullError, UnknownModel
from truedraw.models.checkpoint import Progress
from truedraw.models.hub_files import Repository
from truedraw.whole_files import FULL

MAX_REASON = 300  # characters of an error from below that a message repeats
OF_THE_DISK = (*FULL, errno.EROFS, errno.EACCES, errno.EIO, errno.EFBIG, errno.ENAMETOOLONG)
INSTEAD = "try again, or give a file or folder that is on this machine"
NO_JSON = "it answers with no JSON, as the login page of a network or a mirror (HF_ENDPOINT) may"
NEVER = 1e9  # seconds between two drawings of a bar that nobody sees
PAUSES = (1.0, 2.0)  # seconds before the second and the third time that the hub is asked
LONGEST_PAUSE = 60.0  # that the hub may ask for
TOO_MANY, SERVER = 429, range(500, 600)  # HTTP's numbers for what may be otherwise a little later
BEYOND = 416  # and for a beginning that lies behind the end


def listed(name: str) -> Repository:
    """What the hub has of that name now; raises PullError and UnknownModel."""
    with _speaking(name) as hub:
        ask = hub.HfApi().model_info
        return Repository.of(_patiently(lambda: ask(name, files_metadata=True), (hub.errors.HfHubHTTPError,)))


def fetch(name: str, commit: str | None, files: Sequence[str], folder: Path, tell: Progress) -> None:
    """These files of that state of it; raises PullError and UnknownModel."""
    with _speaking(name) as hub:
        bars, wanted = _bars(f"fetching {name}", tell), [escape(file) for file in files]
        how: dict[str, Any] = {"local_dir": folder, "allow_patterns": wanted, "tqdm_class": bars}
        refusals = hub.errors.HfHubHTTPError, hub.errors.LocalEntryNotFoundError
        ask = partial(hub.snapshot_download, name, revision=commit, **how)  # goes on with what came
        _patiently(lambda: _afresh(ask, folder, refusals), refusals)
        for file in files:  # earlier versions of the package take what is there for all, where the hub answers no more
            if not (folder / file).is_file():
                raise FileNotFoundError(f"{file} did not come")


def _patiently(ask: Callable[[], Any], refusals: tuple[type[Exception], ...]) -> Any:
    for pause in PAUSES:
        try:
            return ask()
        except refusals as error:
            seconds = _pause(_cause(error), pause)
            if seconds is None:
                raise
            time.sleep(seconds)
    return ask()


def _afresh(ask: Callable[[], Any], folder: Path, refusals: tuple[type[Exception], ...]) -> Any:
    """Once more without the part of a file that came before, where the hub has nothing that begins behind it."""
    try:
        return ask()
    except refusals as error:
        if getattr(getattr(_cause(error), "response", None), "status_code", None) != BEYOND:
            raise
    for part in folder.rglob("*.incomplete"):
        part.unlink(missing_ok=True)
    return ask()


def _pause(error: BaseException, usual: float) -> float | None:
    """Seconds until it may be otherwise; None: it will not."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if status != TOO_MANY or response is None:
        return usual if status in SERVER else None
    try:
        wanted = float(response.headers.get("Retry-After", usual))
    except ValueError:  # a date
        return usual
    return wanted if 0 <= wanted <= LONGEST_PAUSE else None


@contextmanager
def _speaking(name: str) -> Iterator[Any]:
    """The package, which says nothing meanwhile; what it raises as PullError and UnknownModel."""
    from ssl import SSLError  # which most starts, whose model is there, do without

    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise PullError(f"{name} is a name on the hub, which needs an extra: pip install 'truedraw[hub]'") from None
    try:
        with _quiet():
            yield huggingface_hub
    except errors.GatedRepoError as error:
        raise PullError(f"{name} is gated: accept its terms on the hub, then log in with `hf auth login`") from error
    except errors.RepositoryNotFoundError as error:
        raise UnknownModel(f"the hub has no model {name!r}, or none that you may see; check the spelling") from error
    except OSError as error:
        if error.errno in OF_THE_DISK and not isinstance(error, gaierror | SSLError):
            raise
        raise _not_fetched(name, error) from error
    except Exception as error:  # of whatever huggingface_hub speaks HTTP with
        raise _not_fetched(name, error) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the lines that it logs each time it tries again, and its warnings of a full disk."""
    from huggingface_hub.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity(CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="huggingface_hub")
            yield
    finally:
        logging.set_verbosity(before)


def _not_fetched(name: str, error: Exception) -> PullError:
    return PullError(f"{name} could not be fetched from the hub: {_in_one_line(_cause(error))}; {INSTEAD}")


def _cause(error: BaseException) -> BaseException:
    """What the hub or the network said, where the package says no more than that a file is not here."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    while isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _in_one_line(error: BaseException) -> str:
    said = " ".join(str(error).split())[:MAX_REASON] or type(error).__name__
    return f"{NO_JSON} ({said})" if isinstance(error, JSONDecodeError) else said


def _bars(what: str, tell: Progress) -> type[Any]:
    """A progress bar class for huggingface_hub that draws nothing and reports bytes."""
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **settings: Any) -> None:
            self.counts_bytes = settings.get("unit") == "B"
            self.done = int(settings.get("initial") or 0)
            super().__init__(*args, **{**settings, "file": StringIO(), "mininterval": NEVER})

        def update(self, n: float | None = 1) -> None:
            self.done += int(n or 0)
            super().update(n)
            if self.counts_bytes:
                tell(what, self.done, int(self.total) if self.total else None)

    return Bar
