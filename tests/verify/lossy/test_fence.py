"""No run that did not ask for it by name can reach a lossy rule, and what one returns says so."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from textwrap import dedent

import pytest

from truedraw import load
from truedraw.errors import BadParameter, UnknownName
from truedraw.generate import fence
from truedraw.generate.speculation import Speculation, speculation
from truedraw.registry import BUILT_IN, find, names
from truedraw.verify.token import TokenVerifier

LOSSY = names("lossy_verifiers")
CAT = {"max_tokens": 60, "ignore_eos": True, "seed": 3}

GUARDED = dedent("""
    import sys

    class Fence:
        def find_spec(self, name, path=None, target=None):
            if name.startswith("truedraw.verify.lossy"):
                raise ImportError("a lossy rule was reached")

    sys.meta_path.insert(0, Fence())
    from contextlib import suppress
    from truedraw import load
    from truedraw.errors import BadParameter
    from truedraw.generate.keys import arguments
    from truedraw.registry import names

    def runs(target, **spec):
        for seed in (None, 3):
            assert target.generate("the cat", n=2, seed=seed, max_tokens=9, speculative=spec).exact

    with load("tabular") as model:
        model.generate("the cat", max_tokens=5)
        runs(model, adaptive=False)
        runs(model, adaptive=False, allow_lossy=True)
        for name in names("verifiers"):
            runs(model, rejection_sample_method=name, adaptive=False)
            runs(model, rejection_sample_method=name, adaptive=False, allow_lossy=True)
        runs(model, method="none")
        runs(model, method="model", model="tabular", adaptive=False)
        for drafter in set(names("drafters")) - {"none", "model"}:
            own = {"model": "tabular"} if {"model", "model_name"} & set(arguments(drafter)) else {}
            with suppress(BadParameter):  # some need a model with layers
                runs(model, method=drafter, adaptive=False, **own)
    assert not [name for name in sys.modules if "lossy" in name]
    try:
        load("tabular").generate("the", speculative={"rejection_sample_method": "skip", "allow_lossy": True})
    except ImportError as error:
        print(error)
""")


def test_a_run_that_does_not_ask_never_imports_them() -> None:
    """The import itself is blocked; the last line shows that the block works."""
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("a lossy rule was reached\n", "")


@pytest.mark.parametrize("name", LOSSY)
def test_without_the_flag_the_name_is_refused(name: str) -> None:
    with pytest.raises(BadParameter, match=r"does not keep the model's distribution; add allow_lossy: true"):
        Speculation(rejection_sample_method=name)
    with pytest.raises(BadParameter, match="allow_lossy"):
        speculation({"rejection_sample_method": name, "allow_lossy": False, "lossy_options": {}})


def test_an_unknown_rule_is_refused_by_the_key_that_named_it() -> None:
    with pytest.raises(UnknownName, match=r"rejection_sample_method: no verifier is called 'sometimes'; choose one of"):
        speculation({"rejection_sample_method": "sometimes"})


@pytest.mark.parametrize("name", LOSSY)
def test_no_list_and_no_lookup_of_verifiers_knows_them(name: str) -> None:
    assert name not in names("verifiers")
    with pytest.raises(UnknownName) as raised:
        find("verifiers", name)
    assert not set(LOSSY) & set(str(raised.value).split("choose one of: ")[1].split(", "))
    assert all(find("verifiers", each).exact for each in names("verifiers"))
    assert not find("lossy_verifiers", name).exact


@pytest.mark.parametrize("name", LOSSY)
def test_results_are_marked(name: str) -> None:
    spec = {"rejection_sample_method": name, "allow_lossy": True, "adaptive": False}
    with load("tabular") as model:
        result = model.generate("the cat", n=2, speculative=spec, **CAT)
        plain = model.generate("the cat", n=2, **CAT)
    assert not result.exact
    assert not any(choice.exact for choice in result.choices)
    said = result.to_dict()
    assert (said["exact"], said["lossy"]["rule"], said["choices"][1]["exact"]) == (False, name, False)
    assert said["lossy"]["tokens"] >= 120
    assert "lossy" in result._repr_html_()
    json.dumps(said, allow_nan=False)
    assert plain.exact
    assert all(choice.exact for choice in plain.choices)
    assert (plain.to_dict()["exact"], "lossy" in plain.to_dict(), "lossy" in plain._repr_html_()) == (
        True,
        False,
        False,
    )


def test_each_run_counts_for_itself() -> None:
    spec = Speculation(rejection_sample_method="lenient", allow_lossy=True)
    with load("tabular") as model:
        counts = [model.generate("the cat", speculative=spec, max_tokens=n, ignore_eos=True).loss for n in (9, 9)]
    assert all(9 <= loss.tokens < 18 for loss in counts)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lenience": 0.5}, "lenience: got 0.5; give a number from 1"),
        ({"lenience": True}, "lenience: got True"),
        ({"lenience": float("nan")}, "lenience: got nan"),
        ({"lenience": "2"}, "lenience: got '2'"),
        ({"leniency": 2}, "no option 'leniency'; valid ones are lenience"),
        ({"tally": 2}, "no option 'tally'"),
        ([2], "lossy_options: got"),
    ],
)
def test_bad_options_are_named(options, told: str) -> None:
    with pytest.raises(BadParameter, match=told):
        Speculation(rejection_sample_method="lenient", allow_lossy=True, lossy_options=options)


@pytest.mark.parametrize("name", ["posterior_threshold", "posterior_alpha", "skip_above", "audit_rate"])
@pytest.mark.parametrize("value", [0, -1, 1.5, None])
def test_shares_lie_above_nothing_and_at_most_at_one(name: str, value) -> None:
    rule = "typical" if name.startswith("posterior") else "skip"
    with pytest.raises(BadParameter, match=f"{name}: got"):
        fence.rule(rule, True, {name: value})
    assert getattr(fence.rule(rule, True, {name: 1}), name) == 1


def test_exact_rules_take_no_options_and_flags_are_flags() -> None:
    with pytest.raises(BadParameter, match="traversal is exact and takes none"):
        Speculation(lossy_options={"lenience": 2})
    with pytest.raises(BadParameter, match="allow_lossy: got 1"):
        Speculation(allow_lossy=1)
    with pytest.raises(UnknownName):
        Speculation(rejection_sample_method="nothing", allow_lossy=True)


class Careless(TokenVerifier):
    exact = False


class SaysLater(TokenVerifier):
    exact = property(lambda self: False)


class SaysNothing:
    coupled = False


@pytest.mark.parametrize("kind", [Careless, SaysLater, SaysNothing])
def test_a_plug_in_that_is_not_exact_stands_behind_the_same_fence(monkeypatch, kind) -> None:
    monkeypatch.setitem(BUILT_IN["verifiers"], "careless", f"{__name__}:{kind.__name__}")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    with pytest.raises(BadParameter, match="allow_lossy"):
        fence.rule("careless", False, None)
    with pytest.raises(BadParameter, match=r"neither that it is exact, .* nor what it loses"):
        fence.rule("careless", True, None)


def test_a_plug_in_registers_in_a_group_of_its_own(monkeypatch) -> None:
    point = metadata.EntryPoint("mild", "truedraw.verify.lossy.lenient:LenientVerifier", "truedraw.lossy_verifiers")

    def entry_points(group: str, name: str = "mild"):
        return [point] if (group, name) == (point.group, point.name) else []

    monkeypatch.setattr("truedraw.registry.entry_points", entry_points)
    assert fence.rule("mild", True, {"lenience": 1.5}).loss().settings == {"lenience": 1.5}
    with pytest.raises(BadParameter, match="allow_lossy"):
        fence.rule("mild", False, None)
