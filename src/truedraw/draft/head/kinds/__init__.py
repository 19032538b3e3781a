"""The kinds of head, a file each: their formulas, and their networks as OpenVINO graphs, or as kernels of ours.

f are the target's hidden states of the last row that was scored, t_1 the token that was drawn from it, t_2, ... tokens
drafted behind it, e(t) the rows of the target's own embedding and n(x) = x / rms(x). logits_i are of the token behind
t_i. All but one have no attention and no cache: a state is all there is of a text, so trees, forks and rejected tokens
cost nothing, and a draft's price does not depend on the length of the text.

recurrent.py         one step for all levels, each made from the state before
recurrent_step.py    its step in compiled code
attentive.py         the same, which looks back at what the target knew at the rows before
attentive_memory.py  what is kept of a text for that
attentive_step.py    its step in compiled code
attentive_calls.py   its calls for some texts; attentive_chain.py  whole chains of them in compiled code
medusa.py            a head a level over the target's last state alone, in one call
parallel.py          one trunk over the streams and t_1, a head a level, in one call
hydra.py             a head a level, which reads all the tokens before it
at_once.py           what a cell is whose first call has said everything
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from truedraw.draft.head.card import ATTENTIVE, HYDRA, MEDUSA, PARALLEL, RECURRENT
from truedraw.draft.head.cell import Cell
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.file import Numbers

CELLS = {
    RECURRENT: "recurrent:RecurrentCell",
    ATTENTIVE: "attentive:AttentiveCell",
    MEDUSA: "medusa:MedusaCell",
    PARALLEL: "parallel:ParallelCell",
    HYDRA: "hydra:HydraCell",
}


def cell_of(file: Numbers, target: TargetRows, threads: int | None = None) -> Cell:
    """The compiled network of a file, by its card's kind; threads: None is every core. Raises BadFile."""
    module, name = CELLS[file.card.kind].split(":")
    kind: Any = getattr(import_module(f"{__name__}.{module}"), name)
    cell: Cell = kind(file, target, threads)
    return cell
