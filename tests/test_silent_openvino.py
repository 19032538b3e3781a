"""OpenVINO is never imported in a way in which it would tell its makers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import truedraw

SOURCES = Path(truedraw.__file__).parent
IMPORTS = re.compile(
    r"""^\s*import\ [^\n]*\bopenvino\b | ^\s*from\ openvino[.\ ] | import(?:_module|__)\(["']openvino\b""",
    re.MULTILINE | re.VERBOSE,
)
BEHIND = {"bench/peers/exported_graph.py", "engine/openvino/ir.py", "silent_openvino.py"}  # parts of it, once loaded

FIRST = """
import sys
{before}
from truedraw.silent_openvino import openvino, operations
assert openvino().Core and operations().parameter and openvino() is sys.modules["openvino"]
print("openvino_telemetry.main" in sys.modules, sys.modules.get("openvino_telemetry", 0) is None)
"""


def told(home: Path, before: str = "") -> list[str]:
    """Whether telemetry was loaded, and whether it is still kept from being."""
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | {"HOME": str(home)}
    script = FIRST.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_nothing_is_told_and_nothing_left_in_the_home_folder(tmp_path: Path) -> None:
    assert told(tmp_path) == ["False", "False"]
    assert not list(tmp_path.rglob("openvino*"))


def test_whoever_has_imported_it_before_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "intel").mkdir()
    (tmp_path / "intel" / "openvino_telemetry").write_text("0")
    assert told(tmp_path, "import openvino") == ["True", "False"]


def test_it_is_imported_nowhere_else() -> None:
    found = {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py") if IMPORTS.search(path.read_text())}
    assert found == BEHIND


LINES = [
    "import openvino as ov",
    "    from openvino import Type",
    "from openvino.op import x",
    "import sys, openvino",
    "ov = import_module('openvino')",
    'op = __import__("openvino.opset13")',
]


@pytest.mark.parametrize("line", LINES)
def test_such_lines_are_found(line: str) -> None:
    assert IMPORTS.search("x = 1\n" + line)
    assert not IMPORTS.search("import openvino_genai\nfrom truedraw.silent_openvino import openvino")
