"""From a name to a loaded model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.errors import BadParameter
from truedraw.generate.contrast import check_contrast, contrast
from truedraw.generate.model import Model
from truedraw.models.catalogue import DEFAULT_MODEL
from truedraw.models.toy import TOY_MODEL, TOY_TABLE, toy_text
from truedraw.registry import find
from truedraw.sampling.randomness import warm_up
from truedraw.text import Tokenizer


def load(  # noqa: PLR0913 - what can be said of a model, all but the first by name
    name: str | Path = DEFAULT_MODEL,
    *,
    numerics: str = "invariant",
    weights: str = "auto",
    threads: int | None = None,
    cache: Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    amateur: str | Path | None = None,
    contrastive_alpha: float | None = None,
    contrastive_beta: float | None = None,
    **engine_options: Any,
) -> Model:
    """Open a model: a name of the catalogue, a GGUF file, a Hugging Face or OpenVINO folder, "org/name" on the hub.

    numerics: "invariant" (fast, and bit-identical for a row however it was computed) or "reference" (float32
    throughout). weights: "auto", "stored", "int8" or "int4". `cache` is the folder for fetched and converted models.
    "tabular" is a toy that needs no file. `amateur` names a second model over the same vocabulary: the law is then
    the contrast of the two, of the given alpha (0.1) and beta (0.5), see contrast.py. Raises UnknownModel,
    UnsupportedModel, BadModelFile, PullError or BadParameter.
    """
    strength = check_contrast(amateur, contrastive_alpha, contrastive_beta)
    options: dict[str, Any] = {
        "numerics": numerics,
        "weights": weights,
        "threads": threads,
        "cache": cache,
        "progress": progress,
    }
    model = open_model(name, **options, **engine_options)
    try:
        whole = model if amateur is None else _contrasted(model, amateur, strength, {**options, **engine_options})
        whole.experience = Experience(PassCosts.of(whole.engine))
    except BaseException:
        model.close()
        raise
    whole.drafts.options = options
    return whole


def _contrasted(expert: Model, amateur: str | Path, strength: tuple[float, float], options: Mapping[str, Any]) -> Model:
    """The contrast of two models; where the amateur drafts as well, it is opened once, and computes a prompt once."""
    other = open_model(amateur, **options)
    whole = contrast(expert, other, *strength)
    whole.drafts.lend(str(amateur), other)
    return whole


def open_model(
    name: str | Path,
    *,
    cache: Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    engine: str = "openvino",
    **engine_options: Any,
) -> Model:
    """One model by its name; options as for `load`. `engine` is a registered one that has a `load` like OpenVINO's."""
    if str(name) == TOY_MODEL:
        _refuse_options(engine_options)
        warm_up()
        from truedraw.engine.tabular import TabularEngine

        text = toy_text()
        return Model(TOY_MODEL, TabularEngine(TOY_TABLE), Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids))
    from truedraw.models import open_checkpoint

    checkpoint = open_checkpoint(name, cache=cache, progress=progress)
    tokenizer = Tokenizer.of(checkpoint)
    warm_up()  # first, so that the compiler behind the kernels is let go of before the weights are in memory
    loaded = find("engines", engine).load(checkpoint, cache=cache, **engine_options)
    return Model(checkpoint.name, loaded, tokenizer, checkpoint.sampling_defaults)


def _refuse_options(given: Mapping[str, Any]) -> None:
    """The toy has nothing to set: raises BadParameter for anything but the defaults."""
    usual = {"numerics": "invariant", "weights": "auto", "threads": None}
    for option, value in given.items():
        if option not in usual or value != usual[option]:
            raise BadParameter(option, f"got {value!r}, but the model {TOY_MODEL!r} is a table and has no such setting")
