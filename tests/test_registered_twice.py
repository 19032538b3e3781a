"""One name, two packages: it is listed once, and nobody guesses which of them is meant."""

from types import SimpleNamespace

import pytest

import truedraw.registry as registered
from truedraw.errors import UnknownName
from truedraw.registry import find, names, usable_names
from truedraw.verify.token import TokenVerifier


def point(package, value="mine:Rule"):
    return SimpleNamespace(name="mine", value=value, load=lambda: TokenVerifier, dist=SimpleNamespace(name=package))


@pytest.fixture
def installed(monkeypatch):
    def these(*points):
        monkeypatch.setattr(registered, "entry_points", lambda group, name=None:
                            [each for each in points if name in (None, each.name)])  # fmt: skip

    return these


def test_two_packages_with_one_name_are_both_named(installed) -> None:
    installed(point("one"), point("other", "other:Rule"))
    assert names("verifiers").count("mine") == 1
    said = r"the verifier 'mine' is registered by one \(mine:Rule\) and other \(other:Rule\); remove all but one"
    with pytest.raises(UnknownName, match=said):
        find("verifiers", "mine")
    assert "mine" not in usable_names("verifiers")


def test_two_packages_that_name_the_same_part_are_two(installed) -> None:
    installed(point("one"), point("other"))
    with pytest.raises(UnknownName, match=r"registered by one \(mine:Rule\) and other \(mine:Rule\); remove all but"):
        find("verifiers", "mine")


@pytest.mark.parametrize("names_of_it", [("one", "one"), ("my-rule", "My_Rule")])
def test_a_package_that_is_found_twice_is_one(installed, names_of_it) -> None:
    installed(*map(point, names_of_it))
    assert find("verifiers", "mine") is TokenVerifier
    assert names("verifiers").count("mine") == 1


def test_a_plug_in_that_exits_while_it_is_imported_cannot_be_loaded(installed) -> None:
    def load():
        raise SystemExit("no licence")

    installed(SimpleNamespace(name="mine", value="mine:Rule", load=load))
    with pytest.raises(UnknownName, match=r"'mine' \(mine:Rule\) cannot be loaded: SystemExit: no licence; mend its"):
        find("verifiers", "mine")
