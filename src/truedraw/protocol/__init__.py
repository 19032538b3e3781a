"""READ FIRST. The records that travel between the stages, and the contracts of the stages. No logic.

Words: the *target* is the model whose samples are wanted; a *drafter* is anything that guesses; its guess is a
*proposal*, a tree of draft tokens (a chain is the usual tree); a *verifier* is the acceptance rule, never a model;
a *round* is one proposal, one pass of the target and one verdict; a round ends with a *residual* token (the
correction after a rejection) or a *bonus* token (everything was kept). p is the target's law and q the draft's, both
after every transform (penalties, mask, temperature, truncation). *Exact* means: keeps the law p.

    prompt -> tokens -> [ propose -> score -> transform -> verify -> commit ]* -> tokens -> text

Everything is batch first: one sequence is a batch of one. Three cases need no code of their own: a draft that is
*certain* of its token has the law None, *greedy* sampling is a one-hot law, and *plain* sampling is an empty proposal.
"""

from __future__ import annotations

from truedraw.protocol.arrays import ROOT, Floats, Ints, Logits, Origin
from truedraw.protocol.control import (
    Asker,
    Choice,
    Controller,
    HearsPrompts,
    Rests,
    Round,
    Stand,
    Stands,
    TopLogprobs,
)
from truedraw.protocol.costs import DraftCost, KeepsDraftCosts, KnowsCosts, PassTable
from truedraw.protocol.drafting import (
    NOTHING,
    Dozes,
    Drafter,
    DraftLaw,
    DraftState,
    HearsHidden,
    LooksAhead,
    Proposal,
    Shapes,
    SparseLaw,
)
from truedraw.protocol.engine import (
    Abreast,
    Engine,
    Fill,
    FillsUp,
    KnowsRoom,
    Scores,
    Sequence,
    StepsAbreast,
    Stride,
    Strides,
    TextRows,
    Work,
)
from truedraw.protocol.jobs import DraftJob, DraftsAbreast, DraftsInRow, KeepsPasses, PassJob
from truedraw.protocol.law import DrawingRows, Law, Rows
from truedraw.protocol.model_files import ModelConfig, Packed, ReadsInParts, Weights
from truedraw.protocol.randomness import Purpose, Randomness
from truedraw.protocol.verdict import DecidingRows, Loss, LossyVerifier, Observer, Verdict, Verifier

__all__ = [
    "NOTHING",
    "ROOT",
    "Abreast",
    "Asker",
    "Choice",
    "Controller",
    "DecidingRows",
    "Dozes",
    "DraftCost",
    "DraftJob",
    "DraftLaw",
    "DraftState",
    "Drafter",
    "DraftsAbreast",
    "DraftsInRow",
    "DrawingRows",
    "Engine",
    "Fill",
    "FillsUp",
    "Floats",
    "HearsHidden",
    "HearsPrompts",
    "Ints",
    "KeepsDraftCosts",
    "KeepsPasses",
    "KnowsCosts",
    "KnowsRoom",
    "Law",
    "Logits",
    "LooksAhead",
    "Loss",
    "LossyVerifier",
    "ModelConfig",
    "Observer",
    "Origin",
    "Packed",
    "PassJob",
    "PassTable",
    "Proposal",
    "Purpose",
    "Randomness",
    "ReadsInParts",
    "Rests",
    "Round",
    "Rows",
    "Scores",
    "Sequence",
    "Shapes",
    "SparseLaw",
    "Stand",
    "Stands",
    "StepsAbreast",
    "Stride",
    "Strides",
    "TextRows",
    "TopLogprobs",
    "Verdict",
    "Verifier",
    "Weights",
    "Work",
]
