"""Draws docs/exactness.svg: python tools/exactness_picture.py. A test checks that the picture is current.

One step of token-wise verification over two tokens: the draft's mass q, what of it is kept, what is rejected, and
where the rejected mass goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from truedraw.verify.token import residual

PICTURE = Path(__file__).parent.parent / "docs" / "exactness.svg"
P, Q = np.array([0.7, 0.3]), np.array([0.4, 0.6])
NAMES = "ab"
WIDTH, HEIGHT, FLOOR, SCALE = 640, 330, 280, 320  # pixels; SCALE of probability 1
BAR, GAP, LEFT, GROUP = 90, 24, 70, 290
KEPT, MOVED, INK = "#5bb98b", "#f0a35e", "#1f2933"


def picture() -> str:
    """The whole file."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="14" role="img">',
        "<title>What is rejected of q returns as the residual of p</title>",
        f'<defs><pattern id="rejected" width="8" height="8" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="8" height="8" fill="#ffffff"/>'
        f'<rect width="4" height="8" fill="{MOVED}"/></pattern>'
        f'<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *(line for token in range(len(P)) for line in bars(token)),
        f'<line x1="40" y1="{FLOOR}" x2="{WIDTH - 40}" y2="{FLOOR}" stroke="{INK}"/>',
        arrow(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def bars(token: int) -> Iterator[str]:
    """q and p of one token: the part that is kept, and above it what is rejected or comes from the residual."""
    kept, left = min(P[token], Q[token]), residual(P, Q, token)[token]
    for name, x, total, fill, label in (
        ("q", place(token, 0), Q[token], "url(#rejected)", "rejected"),
        ("p", place(token, 1), P[token], MOVED, "residual"),
    ):
        yield box(x, 0.0, kept, KEPT, f"kept {kept:.1f}")
        if total > kept:
            yield box(x, kept, total - kept if name == "q" else left, fill, f"{label} {total - kept:.1f}")
        yield text(x + BAR / 2, FLOOR + 20, f"{name}({NAMES[token]}) = {total:.1f}")
        yield text(x + BAR / 2, FLOOR + 38, "draft" if name == "q" else "target")


def place(token: int, bar: int) -> float:
    """The left edge of a bar."""
    return LEFT + GROUP * token + (BAR + GAP) * bar


def box(x: float, start: float, size: float, fill: str, label: str) -> str:
    """A part of a bar, from `start` upwards."""
    y, height = FLOOR - (start + size) * SCALE, size * SCALE
    frame = f'<rect x="{x:.0f}" y="{y:.0f}" width="{BAR}" height="{height:.0f}" fill="{fill}" stroke="{INK}"/>'
    ground = f'<rect x="{x + 4:.0f}" y="{y + height / 2 - 11:.0f}" width="{BAR - 8}" height="20" fill="#ffffff"/>'
    shown = ground if fill.startswith("url") else ""
    return frame + shown + text(x + BAR / 2, y + height / 2 + 4, label)


def arrow() -> str:
    """From the rejected mass to the residual that it is drawn from."""
    start, end = place(1, 0), place(0, 1) + BAR
    y_from, y_to = FLOOR - 0.45 * SCALE, FLOOR - 0.55 * SCALE
    return (
        f'<path d="M{start:.0f},{y_from:.0f} C{start - 30:.0f},{y_from:.0f} {end + 30:.0f},{y_to:.0f} '
        f'{end + 3:.0f},{y_to:.0f}" fill="none" stroke="{INK}" stroke-width="2" marker-end="url(#head)"/>'
    )


def text(x: float, y: float, words: str) -> str:
    """Centred."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="{INK}">{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
