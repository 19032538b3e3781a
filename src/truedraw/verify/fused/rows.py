"""The target's p in the rows of a round, looked at and never written down where the law does not cut.

A law is of one kind all over a round: TEMPERED at a temperature above 0, SHARP at temperature 0, and CUT where it cuts
or edits. What is known of a row, known [TOP .. MASS]: its largest logit; the sum of its weights at the temperature, or
for a SHARP one its first likeliest token; the sum of its weights without a temperature.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.cutting import is_cut
from truedraw.sampling.kernels.edges import first_top
from truedraw.sampling.kernels.exponential import weight
from truedraw.sampling.kernels.rowkinds import Tempered
from truedraw.sampling.kernels.softmax import coldness_of, scale, weights_into
from truedraw.sampling.kernels.spans import num_spans
from truedraw.sampling.kernels.survey import survey
from truedraw.threads.borrowing import alive, borrowed

TEMPERED, SHARP, CUT = range(3)
TOP, MASS, PLAIN_MASS = range(3)


@inner(error_model="numpy")
def kind_of(how, edited, vocab):  # type: ignore[no-untyped-def]
    """Of a transform's laws; where something is edited, p has to be written down as where something is cut."""
    if len(edited) == 0 and how.temperature == 0.0:
        return SHARP
    return CUT if len(edited) > 0 or is_cut(how, vocab) else TEMPERED


@inner(error_model="numpy")
def unknown(rows):  # type: ignore[no-untyped-def]
    """known [3, rows], of rows that nobody has looked at."""
    known = np.empty((3, rows))
    for row in range(rows):
        known[TOP, row] = np.nan
    return known


@inner(error_model="numpy")
def look(logits, kind, how, known, row, board):  # type: ignore[no-untyped-def]
    """Know a row of logits [rows, vocab]; False where it has no law. board: as Scratch has it."""
    if not np.isnan(known[TOP, row]):
        return True
    values, coldness = logits[row], coldness_of(how.temperature) if kind == TEMPERED else 1.0
    tops = np.empty(num_spans(values.shape[0]), dtype=values.dtype)
    top, total, plain = survey(borrowed(values), coldness, borrowed(tops), board)
    alive(tops)
    if not np.isfinite(top):
        return False
    known[TOP, row], known[MASS, row], known[PLAIN_MASS, row] = top, total, plain
    if kind == SHARP:
        known[MASS, row] = first_top(Tempered(values, top, coldness))
    return True


@inner(error_model="numpy")
def chance_there(logits, kind, how, known, row, token):  # type: ignore[no-untyped-def]
    """p(token) in a row that is known and not CUT."""
    if kind == SHARP:
        return 1.0 if token == known[MASS, row] else 0.0
    return weight(logits[row, token], known[TOP, row], coldness_of(how.temperature)) * (1.0 / known[MASS, row])


@inner(error_model="numpy")
def tempered_into(logits, how, known, row, out):  # type: ignore[no-untyped-def]
    """out [vocab]: p in a row that is known and TEMPERED."""
    weights_into(logits[row], known[TOP, row], coldness_of(how.temperature), out)
    scale(out, 1.0 / known[MASS, row])


@inner(error_model="numpy")
def logs_there(logits, kind, how, known, row, token):  # type: ignore[no-untyped-def]
    """(log of the probability of a token under the law, before the transforms) in a row that is known, as
    sampling/kernels/draw.py takes them; the first is not known where the law is CUT."""
    z = np.float64(logits[row, token]) - known[TOP, row]
    plain = z - math.log(known[PLAIN_MASS, row])
    if kind == SHARP:
        return 0.0 if token == known[MASS, row] else -np.inf, plain
    return z * coldness_of(how.temperature) - math.log(known[MASS, row]), plain
