"""Writes the table of attacks into docs/exactness.md: python tools/exactness_page.py. A test checks that it is current.

The rest of the page is written by hand; the examples in it are run by a test.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "exactness.md"
START, END = "<!-- attacks: python tools/exactness_page.py -->\n", "<!-- end of attacks -->\n"


def with_table(page: str) -> str:
    """The page with a fresh table between the two marks."""
    from attacks.run import markdown

    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + markdown() + END + after


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
