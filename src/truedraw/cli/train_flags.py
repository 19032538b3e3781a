"""The flags of `truedraw train draft`: its text, its head, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from truedraw.cli.flags import OUTPUT
from truedraw.cli.grouping import flag
from truedraw.cli.train_outputs import worked_on, written_too

TEXT, HEAD, LIMITS = "Text", "Head", "Limits"
MOST_HIDDEN = 1 << 20  # beyond which no draft is small
LossName = Literal["kl", "rkl", "js", "tv", "tvd++", "lk"]
Overwrite = Annotated[
    bool,
    flag(
        "--overwrite",
        help="Begin --work anew, whatever is there, and replace what stands in the report's place.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, slots=True)
class TextFlags:
    """What is trained on."""

    temperatures: Annotated[
        str,
        flag("--temperatures", metavar="T,T,...", help="Of the model's own texts, in turn.", rich_help_panel=TEXT),
    ] = "1,0.7,1"
    prompts: Annotated[
        Path | None,
        flag(
            "--prompts",
            metavar="FILE",
            help="JSON lines with prompt or turns, which the model answers; if not given, it writes prompts, too.",
            rich_help_panel=TEXT,
        ),
    ] = None
    openers: Annotated[
        str | None,
        flag(
            "--openers",
            metavar="TEXT,TEXT,...",
            help="How three in four of the prompts begin that the model writes, or none; if not given, common "
            "beginnings in English.",
            rich_help_panel=TEXT,
        ),
    ] = None
    documents: Annotated[
        list[Path] | None,
        flag(
            "--documents",
            metavar="FILE",
            help="Train on this text, or JSON lines of texts, instead of the model's own; may be given several times.",
            rich_help_panel=TEXT,
        ),
    ] = None
    answer_tokens: Annotated[
        int, flag("--answer-tokens", help="Tokens of one of the model's texts at most.", min=8, rich_help_panel=TEXT)
    ] = 300
    tokens: Annotated[
        int | None, flag("--tokens", help="Tokens of text in all; else by time.", min=1, rich_help_panel=TEXT)
    ] = None
    seed: Annotated[int, flag("--seed", help="Of texts and training.", min=0, rich_help_panel=TEXT)] = 0


@dataclass(frozen=True, slots=True)
class HeadFlags:
    """The network, and how it is trained."""

    kind: Annotated[
        Literal["recurrent", "attentive", "medusa", "hydra", "parallel", "transformer", "eagle3"] | None,
        flag(
            "--kind",
            help="One step for all positions (recurrent), the same looking back at the last 255 tokens of the answer "
            "(attentive), or a head a position: over the last state alone (medusa), over the tokens drafted before it "
            "as well (hydra), or over one trunk, all in one call (parallel). transformer: no head but a small llama "
            "model of its own, a folder for --spec-model. eagle3: one decoder layer over the whole text, a folder for "
            "--draft and --spec-method eagle. The last two are for `train draft` alone. recurrent if not given.",
            rich_help_panel=HEAD,
        ),
    ] = None
    init_from: Annotated[
        str | None,
        flag(
            "--init-from",
            metavar="HEAD",
            help="Train this head further, or shipped, the one that comes with the default model. Kind, layers and "
            "tokens are its own, but a recurrent head may go on with --kind attentive.",
            rich_help_panel=HEAD,
        ),
    ] = None
    heads: Annotated[
        int | None,
        flag("--heads", help="Positions that a kind with a head a position drafts; 4 if not given.", min=1,
             rich_help_panel=HEAD),
    ] = None  # fmt: skip
    layers: Annotated[
        str | None,
        flag(
            "--layers",
            metavar="N,N,...",
            help="Residual streams of the model that the head reads, from 0; if not given, four spread over its depth, "
            "for eagle3 three: those that enter the layers 2, n / 2 and n - 3. A medusa head and a "
            "transformer read none of them, but with those of another head they can share its --work.",
            rich_help_panel=HEAD,
        ),
    ] = None
    hidden: Annotated[
        int | None,
        flag("--hidden", help="Inner width of the head or of an eagle3 draft; 1536 if not given, of a transformer four "
             "times --width. A medusa head has none.", min=1, max=MOST_HIDDEN, rich_help_panel=HEAD),
    ] = None  # fmt: skip
    vocabulary: Annotated[
        int | None,
        flag("--vocabulary", help="Tokens that it can draft, at most; 8192 if not given.", min=2, rich_help_panel=HEAD),
    ] = None
    loss: Annotated[
        LossName,
        flag("--loss", help="What is minimised at places of the text itself, after a while of forward KL (with "
             "--init-from at once). There is no --on-policy: docs/drafts.md says why.", rich_help_panel=HEAD),
    ] = "lk"  # fmt: skip
    learning_rate: Annotated[
        float | None,
        flag("--learning-rate", help="At its highest; 0.002 if not given, with --init-from 0.001.", min=1e-6, max=1.0,
             rich_help_panel=HEAD),
    ] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class LimitFlags:
    """How long it goes on, and where it works."""

    budget: Annotated[
        str | None,
        flag(
            "--budget",
            metavar="TIME",
            help="Of all stages, as 30m or 2h, runs before an interruption included; 60m unless --tokens and --steps "
            "say when to end. Texts that are being written when theirs is over are written to their end.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    steps: Annotated[int | None, flag("--steps", help="Steps of training at most.", min=1, rich_help_panel=LIMITS)] = (
        None
    )
    patience: Annotated[
        int,
        flag("--patience", help="End after so many looks at held-out text without progress; with --init-from those of "
             "the first half do not count.", min=1, rich_help_panel=LIMITS),
    ] = 6  # fmt: skip
    feature_bytes: Annotated[
        str | None,
        flag(
            "--feature-bytes",
            metavar="SIZE",
            help="Disk for what the model knows at each token, as 512M; 4G if not given. With --engine pytorch "
            "memory of the device, what is free of a GPU but for 8 GB if not given.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    output: Annotated[
        Path | None,
        flag(
            "--output",
            "-o",
            metavar="FILE",
            writes_over=(),
            beside=written_too,
            help="The head, or the folder of a transformer or an eagle3 draft, with a report beside it; "
            "head.safetensors, draft-model or eagle-draft if not given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    work: Annotated[
        Path | None,
        flag(
            "--work",
            metavar="DIR",
            writes_over=(),
            beside=worked_on,
            help="Where texts, features and checkpoints lie, from which the same command goes on; beside --output if "
            "not given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False
