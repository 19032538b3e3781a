"""The flags of the model: which one, how it computes, and what drafts for it. None everywhere means: not given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from truedraw.cli.grouping import flag
from truedraw.engine import DEFAULT_ENGINE
from truedraw.models.catalogue import DEFAULT_MODEL

MODEL = "Model"


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """Which model, and how it computes."""

    model: Annotated[
        str,
        flag(
            "--model",
            "-m",
            metavar="MODEL",
            help="Catalogue name, GGUF file, model folder or org/name.",
            rich_help_panel=MODEL,
        ),
    ] = DEFAULT_MODEL
    engine: Annotated[
        str,
        flag(
            "--engine",
            help="openvino: fast on CPUs. pytorch: any architecture, any device, needs an extra. Or a plug-in's.",
            rich_help_panel=MODEL,
        ),
    ] = DEFAULT_ENGINE
    device: Annotated[
        str | None, flag("--device", help="Where pytorch computes: cpu, cuda, cuda:1.", rich_help_panel=MODEL)
    ] = None
    numerics: Annotated[
        Literal["invariant", "native", "runtime", "rowwise", "reference"] | None,
        flag(
            "--numerics",
            help="invariant: fast, same bits in any batch, what openvino does if not told: native where the processor "
            "has AVX2 or is ARM's and weights are auto or int8, else runtime. native: kernels of truedraw. "
            "runtime: those of OpenVINO, with other bits. rowwise: these for many texts at once. reference: "
            "float32, what pytorch does.",
            rich_help_panel=MODEL,
        ),
    ] = None
    weights: Annotated[
        Literal["auto", "stored", "int8", "int4"],
        flag(
            "--weights",
            help="stored: as in the file. int8: rounded to 8 bits. auto: as stored or int8, whichever is better. int4: "
            "the fewest bytes, more rounded.",
            rich_help_panel=MODEL,
        ),
    ] = "auto"
    threads: Annotated[
        int | None, flag("--threads", help="Threads; all cores if not given.", min=1, rich_help_panel=MODEL)
    ] = None
    cache_bytes: Annotated[
        str | None,
        flag(
            "--cache-bytes",
            metavar="SIZE",
            help="Memory for the texts being written, as 512M or 2G; used as they grow.",
            rich_help_panel=MODEL,
        ),
    ] = None
    prefix_cache_bytes: Annotated[
        str | None,
        flag(
            "--prefix-cache-bytes",
            metavar="SIZE",
            help="What of it may stay with texts that have ended, for texts that begin like them; 0 for nothing.",
            rich_help_panel=MODEL,
        ),
    ] = None
    fixed_after: Annotated[
        int | None,
        flag(
            "--fixed-after",
            metavar="PASSES",
            help="Passes of one shape after which a small model is compiled for just that (native numerics have no "
            "shapes): faster, and the weights are in memory once more; 800 if not given, -1 for never.",
            rich_help_panel=MODEL,
        ),
    ] = None
    cache: Annotated[
        Path | None,
        flag("--cache", help="Folder for fetched models.", file_okay=False, rich_help_panel=MODEL),
    ] = None
    draft: Annotated[
        str | None,
        flag(
            "--draft",
            metavar="FILE",
            help="Draft head of `truedraw train draft`, a folder with an EAGLE or Medusa draft for the model, or mtp "
            "for the MTP layers in its checkpoint; if not given what comes with it, if anything does; none for none.",
            rich_help_panel=MODEL,
        ),
    ] = None
    save_draft: Annotated[
        Path | None,
        flag(
            "--save-draft",
            writes_over=("--draft",),
            help='Write the draft head with what it learnt in this run ("refit" in --speculative-config) to this file.',
            dir_okay=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    amateur: Annotated[
        str | None,
        flag(
            "--amateur",
            metavar="MODEL",
            help="A worse model to sample in contrast to: contrastive decoding.",
            rich_help_panel=MODEL,
        ),
    ] = None
    contrastive_alpha: Annotated[
        float | None,
        flag(
            "--contrastive-alpha", help="Share of the likeliest token's mass, 0.1 if not given.", rich_help_panel=MODEL
        ),
    ] = None
    contrastive_beta: Annotated[
        float | None,
        flag("--contrastive-beta", help="How strong the contrast is, 0.5 if not given.", rich_help_panel=MODEL),
    ] = None
