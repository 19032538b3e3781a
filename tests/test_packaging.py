"""What the package imports is what an installation without extras brings, but for parts that name their extra."""

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import truedraw

SOURCE = Path(truedraw.__file__).parent
PROJECT = SOURCE.parents[1] / "pyproject.toml"
COMES_WITH = {
    "huggingface_hub": "hub",
    "llvmlite": "numba",
    "openvino_genai": "peers",
    "openvino_tokenizers": "peers",
    "pandas": "pandas",
    "pyarrow": "parquet",
    "torch": "torch",
    "transformers": "torch",
}
"""Packages by the extra, or the dependency, that brings them."""


def imported(path: Path) -> set[str]:
    """Packages that are neither Python's nor our own."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"truedraw"}


@pytest.mark.skipif(not PROJECT.is_file(), reason="not run from the project's folder")
def test_every_import_is_a_dependency():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    needed = {name.split(">=")[0].split("==")[0] for name in project["dependencies"]}
    used = {name: path for path in sorted(SOURCE.rglob("*.py")) for name in imported(path)}
    assert {"openvino", "safetensors", "torch"} <= set(used)
    missing = {name: str(path) for name, path in used.items() if COMES_WITH.get(name, name) not in needed | extras}
    assert not missing


@pytest.mark.skipif(not PROJECT.is_file(), reason="not run from the project's folder")
def test_a_source_distribution_has_what_tests_need():
    root = PROJECT.parent
    told = (root / "MANIFEST.in").read_text(encoding="utf-8").split()
    assert {path.parent.name for path in root.glob("[!.]*/*.py")} <= {*told}
    assert {".ci", "docs", "CHANGELOG.md", "Makefile"} <= {*told}


def planned(folder: Path, *arguments: str) -> str:
    """What make would do where an older environment has everything installed."""
    folder.joinpath("pyproject.toml").touch()
    shutil.copy(PROJECT.parent / "Makefile", folder)
    for name in ("pyvenv.cfg", ".run", ".test"):
        path = folder / ".venv" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    told = ["make", "-n", "VENV=.venv", f"PYTHON={sys.executable}", *arguments]
    return subprocess.run(told, cwd=folder, check=True, capture_output=True, text=True).stdout


needs_make = pytest.mark.skipif(not (PROJECT.is_file() and shutil.which("make")), reason="no make, or no Makefile")


@needs_make
@pytest.mark.parametrize("found", [None, "print(False)", "print(True)"])
def test_everything_is_installed_anew_where_the_python_of_the_environment_is_gone(found, tmp_path):
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    if found is not None:
        python.write_text(f"#!{sys.executable}\n{found}\n", encoding="utf-8")
        python.chmod(0o755)
    plan = planned(tmp_path, ".venv/.run")
    assert ("-m venv --clear .venv" in plan, "install --no-compile -e ." in plan) == (found != "print(True)",) * 2


def test_what_is_public_is_seen_before_it_is_used():
    """By whoever lists or completes names."""
    assert set(truedraw.__all__) <= set(dir(truedraw))
    assert {"load", "__version__"} <= set(dir(truedraw))
