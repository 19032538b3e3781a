"""Engines of other packages: one that fails while it loads, or gives something else, is refused by its name."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest
from platformdirs import user_cache_path

import truedraw.registry as registered
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import load
from truedraw.engine.cpu import CPUEngine
from truedraw.errors import BadModelFile, BadParameter, UnknownName
from truedraw.models.huggingface import open_huggingface


class Sound:
    open_folder = staticmethod(open_huggingface)

    @staticmethod
    def load(checkpoint, threads=None):
        return CPUEngine.load(checkpoint, numerics="reference", threads=threads)


def failing(error: BaseException, where: str = "load"):
    def fails(*_given, threads=None):
        raise error

    return type("Failing", (Sound,), {where: staticmethod(fails)})


def giving(found, where: str = "load"):
    return type("Giving", (Sound,), {where: staticmethod(lambda *_given, threads=None: found)})


class Shapeless(Sound):
    @staticmethod
    def open_folder(name, path):
        return replace(open_huggingface(name, path), config=SimpleNamespace(context_length="long"))


class Curious(Sound):
    told: ClassVar[dict[str, object]] = {}

    @classmethod
    def load(cls, checkpoint, threads=None, weights="its own", cache=None):
        cls.told |= {"weights": weights, "cache": cache}
        return Sound.load(checkpoint, threads)


class Collecting(Curious):
    @classmethod
    def load(cls, checkpoint, **options):
        cls.told |= {"weights": "its own", **options}
        return Sound.load(checkpoint)


KINDS = {
    "sound": Sound,
    "curious": Curious,
    "collecting": Collecting,
    "raises": failing(RuntimeError("no device")),
    "exits": failing(SystemExit("no licence")),
    "refuses": failing(BadModelFile("a weight is missing")),
    "nothing": giving(None),
    "half": giving(SimpleNamespace(vocab_size=3, open=None)),
    "cannot read": failing(KeyError("layers"), "open_folder"),
    "reads nothing": giving(None, "open_folder"),
    "shapeless": Shapeless,
    "no function": type("NoFunction", (), {"load": 5}),
}


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry_points(group, name=None):
        kinds = KINDS if group == "truedraw.engines" else {}
        points = [SimpleNamespace(name=each, value="test", load=lambda kind=kind: kind) for each, kind in kinds.items()]
        return [each for each in points if name in (None, each.name)]

    monkeypatch.setattr(registered, "entry_points", entry_points)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("tiny"), tiny_config(), random_tensors(tiny_config()))


def opened(folder, engine):
    return load(folder, engine=engine, threads=1, cache=folder / "cache")


def test_a_sound_one_runs(folder) -> None:
    with opened(folder, "sound") as model:
        assert len(model.generate("hello", max_tokens=3, ignore_eos=True).choices[0].tokens) == 3


@pytest.mark.parametrize("engine", ["curious", "collecting"])
def test_what_nobody_gives_is_the_engines_own_and_the_cache_is_a_folder(folder, engine, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for given, told in ({}, "its own"), ({"weights": None}, "its own"), ({"weights": "int8"}, "int8"):
        with load(folder, engine=engine, **given):
            assert Curious.told == {"weights": told, "cache": user_cache_path("truedraw")}


@pytest.mark.parametrize(("engine", "said"), [
    ("raises", "cannot load .*: RuntimeError: no device"),
    ("exits", "cannot load .*: SystemExit: no licence"),
    ("nothing", "loaded .* and gave None, which has no vocab_size, context_length, open, forward; load has to give an"),
    ("half", "loaded .* and gave .*, which has no context_length, forward"),
    ("cannot read", "cannot open .*: KeyError: 'layers'"),
    ("reads nothing", "opened .* and gave None; open_folder has to give a Checkpoint"),
    ("shapeless", "opened .* with a context_length of 'long'; give a whole number"),
    ("no function", "does not say which options its load has: TypeError"),
])  # fmt: skip
def test_a_broken_one_is_refused_by_its_name(folder, engine, said) -> None:
    with pytest.raises(BadParameter, match=f"engine: the plug-in '{engine}' {said}"):
        opened(folder, engine)


def test_what_it_says_on_purpose_is_passed_on(folder) -> None:
    with pytest.raises(BadModelFile, match=r"^a weight is missing$"):
        opened(folder, "refuses")


def test_an_engine_that_is_not_registered_raises_what_load_says_of_it(folder) -> None:
    with pytest.raises(UnknownName, match="no engine is called 'nobody'"):
        opened(folder, "nobody")
    assert UnknownName.__name__ in load.__doc__
