"""Examples in the pages import what they use, so that they run as they stand."""

import ast
import builtins
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/guided.md", "docs/contrastive.md", "docs/pytorch.md")


def names(tree):
    """Those that are read, and those that an import or an assignment makes."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in found if isinstance(node.ctx, ast.Load)}
    made = {node.id for node in found if isinstance(node.ctx, ast.Store)}
    return read, made | {
        each.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names
    }


@pytest.mark.parametrize("page", PAGES)
def test_examples_name_nothing_that_is_not_there(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    read, made = names(ast.parse("\n".join(blocks)))
    assert not read - made - {*dir(builtins)}
