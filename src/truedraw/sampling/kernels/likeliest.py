"""The few largest values of a row, in one pass: what stands lower than all that were found is looked at once."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled
from truedraw.protocol import Floats, Ints, Logits


@compiled(nogil=True, error_model="numpy")
def likeliest_into(values: Logits | Floats, ids: Ints) -> int:
    """ids [count >= 1]: where the largest of the values [n] stand, in descending order, of equal ones the first first.

    Returns how many there are: fewer than `count` where fewer are above -inf. NaN is none of them.
    """
    found, bound = 0, -np.inf
    for i in range(values.shape[0]):
        value = values[i]
        if value > bound:
            place = min(found, ids.shape[0] - 1)
            while place > 0 and values[ids[place - 1]] < value:
                ids[place] = ids[place - 1]
                place -= 1
            ids[place] = i
            found = min(found + 1, ids.shape[0])
            bound = values[ids[found - 1]] if found == ids.shape[0] else bound
    return found
