"""Paths that begin with a ~."""

import re
from pathlib import Path

import pytest

import truedraw
from truedraw.cli.written_over import identity
from truedraw.errors import BadFile
from truedraw.home_folder import expanded
from truedraw.models.cache import cache_root
from truedraw.whole_files import check_folder

NOBODY = "~nobody-of-this-name/x"


def test_the_home_folder_is_put_in_its_place(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert expanded("~/x") == tmp_path / "x"
    assert expanded("a/~b") == Path("a/~b")


def test_a_home_folder_of_nobody_is_refused_by_load():
    with pytest.raises(BadFile, match=f"'{NOBODY}' begins with a home folder that is not known"):
        truedraw.load("tabular", cache=NOBODY)


@pytest.mark.parametrize(
    "draft",
    [{"method": "suffix", "suffix_decoding_index": "{}"}, {"method": "ngram-lm", "ngram_lm_path": "{}"}],
    ids=lambda draft: draft["method"],
)
def test_files_of_drafts_may_be_in_a_home_folder(monkeypatch, tmp_path, draft):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "x").touch()
    model = truedraw.load("tabular")
    for path, said in ((NOBODY, "home folder that is not known"), ("~/x", "^" + re.escape(str(tmp_path / "x")))):
        with pytest.raises(BadFile, match=said):
            model.generate("the", speculative={key: value.format(path) for key, value in draft.items()})


@pytest.mark.parametrize("unknown", [RuntimeError("no home"), Path("~nobody-of-this-name/.cache/truedraw")])
def test_an_unknown_cache_folder_is_told_of(monkeypatch, unknown):
    def user_cache_path(_name):
        if isinstance(unknown, Exception):
            raise unknown
        return unknown

    monkeypatch.setattr("platformdirs.user_cache_path", user_cache_path)
    with pytest.raises(BadFile, match=r"cache folder is not known|home folder that is not known"):
        cache_root(None)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """The working folder was removed, which not every system lets anybody do."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    try:
        (tmp_path / "gone").rmdir()
        Path.cwd()
    except FileNotFoundError:
        return
    except OSError:
        pass
    pytest.skip("a folder stays while somebody works in it")


@pytest.mark.parametrize("given", [{"cache": "c"}, {"name": "."}], ids=lambda given: next(iter(given)))
def test_a_path_that_begins_in_a_folder_that_is_gone_is_refused(nowhere, given):
    with pytest.raises(BadFile, match="cannot be found: the working folder was removed; go to one that exists"):
        truedraw.load(**{"name": "tabular", **given})


def test_nothing_can_be_written_to_a_folder_that_is_gone(nowhere):
    with pytest.raises(BadFile, match="--html cannot be written: No such file or directory; give a file in a folder"):
        check_folder(Path("x"), "--html")


def test_a_file_in_a_folder_that_is_gone_is_no_other_file(nowhere, tmp_path):
    with pytest.raises(BadFile, match="'x' cannot be found: the working folder was removed"):
        identity(Path("x"))
    assert identity(tmp_path / "x") == tmp_path.resolve() / "x"
