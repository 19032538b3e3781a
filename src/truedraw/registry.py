"""Names of parts and where they live, imported when first used.

A plug-in adds a name through the entry-point groups "truedraw.drafters", "truedraw.verifiers" and
"truedraw.engines" of its own package; a built-in name cannot be replaced. Rules that do not keep the target's law have
a table of their own ("truedraw.lossy_verifiers"), so that no list and no look-up of verifiers can meet them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from truedraw.errors import UnknownName, did_you_mean
from truedraw.handlers import fault_of

BUILT_IN: dict[str, dict[str, str]] = {
    "engines": {
        "openvino": "truedraw.engine.cpu:CPUEngine",
        "pytorch": "truedraw.engine.pytorch:PyTorchEngine",
        "tabular": "truedraw.engine.tabular:TabularEngine",
    },
    "drafters": {
        "auto": "truedraw.draft.several:SeveralDrafters",
        "none": "truedraw.draft.none:NoDrafter",
        "ngram": "truedraw.draft.ngram:NgramDrafter",
        "suffix": "truedraw.draft.suffix:SuffixDrafter",
        "ngram-lm": "truedraw.draft.ngram_lm:NgramLMDrafter",
        "prediction": "truedraw.draft.prediction:PredictionDrafter",
        "recycle": "truedraw.draft.recycle:RecycleDrafter",
        "lookahead": "truedraw.draft.lookahead:LookaheadDrafter",
        "model": "truedraw.draft.model:ModelDrafter",
        "head": "truedraw.draft.head.drafter:HeadDrafter",
        "eagle": "truedraw.draft.eagle.drafter:EagleDrafter",
        "mtp": "truedraw.draft.eagle.mtp:MtpDrafter",
        "head-ngram": "truedraw.draft.head_ngram:HeadNgramDrafter",
        "early-exit": "truedraw.draft.early_exit:EarlyExitDrafter",
        "quantised-self": "truedraw.draft.quantised_self:QuantisedSelfDrafter",
        "tli": "truedraw.draft.tli:TliDrafter",
        "string-match": "truedraw.draft.string_match:StringMatchDrafter",
        "staged": "truedraw.draft.staged:StagedDrafter",
        "mix": "truedraw.draft.mix:MixDrafter",
    },
    "verifiers": {
        "traversal": "truedraw.verify.traversal:TraversalVerifier",
        "token": "truedraw.verify.token:TokenVerifier",
        "block": "truedraw.verify.block:BlockVerifier",
        "recursive": "truedraw.verify.recursive:RecursiveVerifier",
        "kseq": "truedraw.verify.kseq:KSeqVerifier",
        "multipath": "truedraw.verify.multipath:MultipathVerifier",
        "coupled": "truedraw.verify.coupled:CoupledVerifier",
    },
    "lossy_verifiers": {
        "lenient": "truedraw.verify.lossy.lenient:LenientVerifier",
        "typical": "truedraw.verify.lossy.typical:TypicalVerifier",
        "skip": "truedraw.verify.lossy.skip:SkipVerifier",
    },
}


def names(kind: str) -> list[str]:
    """The registered names of one kind, a key of BUILT_IN; plug-ins last."""
    built_in = BUILT_IN[kind]
    return [*built_in, *sorted({p.name for p in entry_points(group=f"truedraw.{kind}")} - {*built_in})]


def usable_names(kind: str) -> Iterator[str]:
    """Those whose plug-ins can be loaded: a broken one concerns only those who name it."""
    for name in names(kind):
        try:
            find(kind, name)
        except UnknownName:
            continue
        yield name


def find(kind: str, name: str) -> Any:
    """The class behind a name.

    Raises UnknownName with the list of valid ones, for a plug-in that is broken, and where two packages have the name.
    """
    if name in BUILT_IN[kind]:
        module, _, attribute = BUILT_IN[kind][name].partition(":")
        return getattr(import_module(module), attribute)
    called = kind[:-1].replace("_", " ")
    points = [*entry_points(group=f"truedraw.{kind}", name=name)]
    if not points:
        known = names(kind)
        raise UnknownName(
            f"no {called} is called {name!r}{did_you_mean(name, known)}; choose one of: {', '.join(known)}"
        )
    if len({(_package(point), point.value) for point in points}) > 1:  # else it is one package, found twice
        having = " and ".join(dict.fromkeys(map(_origin, points)))
        raise UnknownName(f"the {called} {name!r} is registered by {having}; remove all but one of these packages")
    return _loaded(points[0])


def _origin(point: EntryPoint) -> str:
    """The package of a plug-in, and what it names there."""
    return f"{_name(point) or 'a package without a name'} ({point.value})"


def _package(point: EntryPoint) -> str:
    """The same however its name is written."""
    return re.sub(r"[-_.]+", "-", _name(point)).lower()


def _name(point: EntryPoint) -> str:
    return str(getattr(getattr(point, "dist", None), "name", None) or "")


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except BaseException as error:
        what = f"the plug-in {point.name!r} ({point.value}) cannot be loaded: {fault_of(error)}"
        raise UnknownName(f"{what}; mend its package, or remove it") from error
