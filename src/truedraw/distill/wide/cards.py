"""Graphics cards: what is particular to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CARD = "cuda"
KEEP_FREE = 8 << 30  # bytes that learning needs beside features; of a small card half of what is free


def is_card(device: Any) -> bool:
    """Whether a device of torch's has memory of its own."""
    return bool(device.type == CARD)


def free_bytes(device: Any) -> int | None:
    """That features may take of a card; None: of a processor's memory whatever is asked for."""
    import torch

    if not is_card(device):
        return None
    torch.cuda.empty_cache()
    free = int(torch.cuda.mem_get_info(device)[0])
    return max(free - KEEP_FREE, free // 2)


@contextmanager
def fast_products(device: str) -> Iterator[None]:
    """Float32 by the units that a card has for it (TF32, ten bits of each factor), and as before behind it."""
    import torch

    before = torch.get_float32_matmul_precision()
    try:
        if device.startswith(CARD):
            torch.set_float32_matmul_precision("high")
        yield
    finally:
        torch.set_float32_matmul_precision(before)
