"""From a name to a loaded model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.control.kept import recalled
from truedraw.engine import DEFAULT_ENGINE, DEFAULT_NUMERICS
from truedraw.errors import BadParameter, NotInvariant
from truedraw.generate.contrast import check_contrast, contrast
from truedraw.generate.draft_head import HIDDEN, NO_HEAD, check_draft, head_for, options_for
from truedraw.generate.engine_choice import find_checkpoint, find_engine, loaded_by, told
from truedraw.generate.first_start import kernels
from truedraw.generate.means import warm_up
from truedraw.generate.model import Model
from truedraw.home_folder import from_root
from truedraw.models.cache import cache_root
from truedraw.models.catalogue import DEFAULT_MODEL
from truedraw.models.toy import TOY_MODEL, TOY_TABLE, toy_text
from truedraw.sampling.values import differs, plain_number, shown
from truedraw.text import Tokenizer

FOR_DRAFTS = ("fixed_after",)  # options of the target's engine that draft models have, too
SPELLED_OUT = {DEFAULT_ENGINE: DEFAULT_NUMERICS}
"""Where an engine's default is spelled out, so that two models opened alike can be seen to be so."""


def load(  # noqa: PLR0913 - what can be said of a model, all but the first by name
    name: str | Path = DEFAULT_MODEL,
    *,
    engine: str = DEFAULT_ENGINE,
    device: str | None = None,
    numerics: str | None = None,
    weights: str = "auto",
    threads: int | None = None,
    cache: str | Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    draft: str | Path | None = None,
    amateur: str | Path | None = None,
    contrastive_alpha: float | None = None,
    contrastive_beta: float | None = None,
    **engine_options: Any,
) -> Model:
    """Open a model: a name of the catalogue, a GGUF file, a Hugging Face or OpenVINO folder, "org/name" on the hub.

    engine: "openvino" (CPUs), "pytorch" (any architecture that transformers knows, on any `device` of torch, which
    needs the extra "torch") or a plug-in's. numerics: "invariant" (fast, and bit-identical for a row however it was
    computed: the default of openvino, which is "native" where the processor has AVX2 or is ARM's and the
    weights are "auto" or "int8", and "runtime" elsewhere), "native" (kernels of this package), "runtime" (those of
    OpenVINO, with other bits), "rowwise" (these for many texts at once) or "reference" (float32 throughout: that of
    pytorch). weights: "auto", "stored", "int8" or "int4". `cache` is the folder for fetched and converted models;
    further options are the engine's own (of openvino cache_bytes, prefix_cache_bytes and fixed_after, whole numbers:
    see `truedraw generate --help`). Models that draft run on its engine and device. `draft` is a head for this model, a
    file of `truedraw train draft`, a folder with an EAGLE or Medusa draft, or "mtp", the layers for multi-token
    prediction that its checkpoint carries; None: what comes with truedraw for it or with the checkpoint, if anything
    does, and "none" none. "tabular" is a toy that needs no file. `amateur` names a second model over the same
    vocabulary: the law is then the contrast of the two, of the given alpha (0.1) and beta (0.5), see contrast.py.
    Raises UnknownModel, UnsupportedModel, BadModelFile, PullError, BadFile, BadParameter, or UnknownName for an engine
    that is not registered; warns NotInvariant where the engine finds here that a row's bits do depend on the batch.
    """
    check_draft(draft)
    paths = {"name": name, "cache": cache, "amateur": amateur}
    _check_kinds(paths, {"engine": engine, "numerics": numerics, "weights": weights}, progress)
    strength, head = check_contrast(amateur, contrastive_alpha, contrastive_beta), _head_beside(amateur, draft)
    own = {option: plain_number(value) for option, value in engine_options.items()}
    options: dict[str, Any] = {
        "engine": engine,
        "device": device,
        "numerics": SPELLED_OUT.get(engine) if numerics is None else numerics,
        "weights": weights,
        "threads": plain_number(threads),
        "cache": None if cache is None else from_root(cache_root(Path(cache))),
        "progress": progress,
    }
    model = open_model(name, draft=head, **options, **own)
    with ExitStack() as undo:
        undo.callback(model.close)
        whole = model if amateur is None else _contrasted(model, amateur, strength, {**options, **own})
        undo.pop_all()
        undo.callback(whole.close)
        whole.experience = Experience(PassCosts.of(whole.engine), recalled(whole.engine))
        whole.drafts.options = options | {name: own[name] for name in FOR_DRAFTS if name in own}
        _warn(whole)
        undo.pop_all()
    return whole


def _warn(model: Model) -> None:
    """Whoever called `load`, where the engine's bits depend on the batch."""
    report = getattr(model.engine, "invariance", None)
    if report is not None and not report.holds:
        warnings.warn(f"{report.says}; numerics='reference' is slower and far closer", NotInvariant, stacklevel=3)


def _check_kinds(paths: Mapping[str, Any], names: Mapping[str, Any], progress: Any) -> None:
    """Of what is given by hand; raises BadParameter."""
    for option, value in paths.items():
        if not isinstance(value, str | PathLike) and (value is not None or option == "name"):
            raise BadParameter(option, f"got {shown(value)}; give a text or a path")
    if paths["cache"] == "":  # which a path takes for the folder one is in
        raise BadParameter("cache", "got ''; give a folder, \".\" for this one, or None for your own")
    for option, value in names.items():
        if not isinstance(value, str) and (value is not None or option == "engine"):
            raise BadParameter(option, f"got {shown(value)}; give a name")
    if progress is not None and not callable(progress):
        raise BadParameter("progress", f"got {shown(progress)}; give a function of (what, bytes done, bytes in all)")


def _head_beside(amateur: str | Path | None, draft: str | Path | None) -> str | Path | None:
    """The head that is opened; raises BadParameter for one beside an amateur."""
    if amateur is None:
        return draft
    if draft in (None, NO_HEAD):
        return NO_HEAD
    raise BadParameter(
        "draft",
        "a head reads one model's hidden states, and an amateur makes two; leave one out "
        '(the amateur itself drafts with the method "model")',
    )


def _contrasted(expert: Model, amateur: str | Path, strength: tuple[float, float], options: Mapping[str, Any]) -> Model:
    """The contrast of two models, of which the amateur can draft by the name it is given here."""
    return contrast(expert, open_model(amateur, **options), *strength, name=str(amateur))


def open_model(
    name: str | Path,
    *,
    cache: Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    engine: str = DEFAULT_ENGINE,
    draft: str | Path | None = NO_HEAD,
    **engine_options: Any,
) -> Model:
    """One model by its name; options as for `load`, of which None is the engine's own default. A drafter needs no head.

    `engine` is a registered one that has a `load` like OpenVINO's.
    """
    if str(name) == TOY_MODEL:
        return _toy({"engine": engine, "draft": None if draft == NO_HEAD else draft, **engine_options})
    kind = find_engine(engine)
    given = told(engine, kind, engine_options, cache)
    checkpoint = find_checkpoint(name, engine, cache=cache, progress=progress)
    tokenizer = Tokenizer.of(checkpoint)
    wanted = _draft_beside(given, draft)
    with ExitStack() as undo:
        with kernels() as compiling:
            head = head_for(wanted, checkpoint, tokenizer, kind)
            heard = options_for(head, checkpoint.config.num_layers, kind)
            loaded = loaded_by(engine, kind, checkpoint, {**heard, **given})
            model = Model(checkpoint.name, loaded, tokenizer, checkpoint.sampling_defaults)
            undo.callback(model.close)
            model.drafts.files, model.drafts.head_path = checkpoint.path, head
            if compiling:
                model.drafts.prepare(given.get("threads"))
        undo.pop_all()
    return model


def _draft_beside(given: Mapping[str, Any], draft: str | Path | None) -> str | Path | None:
    """The draft to look for: whoever asks for other layers wants just those. Raises BadParameter for both."""
    if HIDDEN not in given:
        return draft
    if draft not in (None, NO_HEAD):
        raise BadParameter(HIDDEN, f"the draft {draft} says which layers are read; leave one of the two out")
    return NO_HEAD


def _toy(given: Mapping[str, Any]) -> Model:
    """A table that needs no file."""
    _refuse_options(given)
    warm_up()
    from truedraw.engine.tabular import TabularEngine

    text = toy_text()
    return Model(TOY_MODEL, TabularEngine(TOY_TABLE), Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids))


def _refuse_options(given: Mapping[str, Any]) -> None:
    """The toy has nothing to set: raises BadParameter for anything but the defaults."""
    usual = {
        "engine": DEFAULT_ENGINE,
        "draft": None,
        "device": None,
        "numerics": DEFAULT_NUMERICS,
        "weights": "auto",
        "threads": None,
    }
    for option, value in given.items():
        if option not in usual or differs(value, usual[option]):
            raise BadParameter(
                option, f"got {shown(value)}, but the model {TOY_MODEL!r} is a table and has no such setting"
            )
