"""Bias, penalties and bans: what sampling/edits.py says, done to a row in place."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner

BYTE = 8  # bits
ALL_BITS = 255


@inner(error_model="numpy")
def edit(row, edits):  # type: ignore[no-untyped-def]
    """row [n] float64 in place; `edits` is a plain tuple. False where a token is beyond the row; nothing is changed."""
    if not all_within(edits, row.shape[0]):
        return False
    change(row, edits)
    return True


@inner(error_model="numpy")
def change(row, edits):  # type: ignore[no-untyped-def]
    """The same where all are within."""
    biased, bias, text, repetition, output, frequency, presence, banned, allowed = edits
    for k in range(biased.shape[0]):
        row[biased[k]] += bias[k]
    repeat(row, text, repetition)
    subtract(row, output, frequency, presence)
    for k in range(banned.shape[0]):
        row[banned[k]] = -np.inf
    if allowed.shape[0] > 0:
        ban_others(row, allowed)


@inner(error_model="numpy")
def all_within(edits, n):  # type: ignore[no-untyped-def]
    """Whether only tokens of a row of n are named."""
    biased, _, text, _, output, _, _, banned, _ = edits
    return within(biased, n) and seen_within(text, n) and seen_within(output, n) and within(banned, n)


@inner(error_model="numpy")
def within(ids, n):  # type: ignore[no-untyped-def]
    """Whether all ids are from 0 to n - 1."""
    largest = np.uint64(0)
    for k in range(ids.shape[0]):
        largest = max(largest, np.uint64(ids[k]))
    return ids.shape[0] == 0 or largest < np.uint64(n)


@inner(error_model="numpy")
def seen_within(seen, n):  # type: ignore[no-untyped-def]
    """Whether a text has only tokens of the row, and of its own vocabulary."""
    ids, counts, recent = seen
    return within(ids, n) and within(recent, min(n, counts.shape[0]))


@inner(error_model="numpy")
def repeat(row, seen, penalty):  # type: ignore[no-untyped-def]
    """Each token of a text changes once: what stands there for recent ones is read before anything is written."""
    ids, _, recent = seen
    before = row[recent]
    for k in range(ids.shape[0]):
        row[ids[k]] = repeated(row[ids[k]], penalty)
    for k in range(recent.shape[0]):
        row[recent[k]] = repeated(before[k], penalty)


@inner(error_model="numpy")
def repeated(z, penalty):  # type: ignore[no-untyped-def]
    """One logit."""
    return z / penalty if z > 0.0 else z * penalty


@inner(error_model="numpy")
def subtract(row, seen, frequency, presence):  # type: ignore[no-untyped-def]
    """The same way, by how often a token stands in the whole text."""
    ids, counts, recent = seen
    before = row[recent]
    for k in range(ids.shape[0]):
        row[ids[k]] -= frequency * counts[ids[k]] + presence
    for k in range(recent.shape[0]):
        count = counts[recent[k]]
        for j in range(recent.shape[0]):
            count += recent[j] == recent[k]
        row[recent[k]] = before[k] - (frequency * count + presence)


@inner(error_model="numpy")
def ban_others(row, allowed):  # type: ignore[no-untyped-def]
    """All tokens whose bit is 0, or missing; without a branch for each of them."""
    for first in range(0, row.shape[0], BYTE):
        byte = np.int64(allowed[first // BYTE]) if first // BYTE < allowed.shape[0] else 0
        for i in range(first, min(first + BYTE, row.shape[0]) if byte != ALL_BITS else first):
            at = np.uint64(i)
            row[at] = row[at] if byte >> (i - first) & 1 else -np.inf


@compiled(nogil=True, error_model="numpy")
def edit_here(row, edits):  # type: ignore[no-untyped-def]
    """edit."""
    return edit(row, edits)
