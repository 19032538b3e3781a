"""What a package says of its files is true of them: each file that is named is there, and where there is a list, each
file stands in it."""

import ast
import re
from pathlib import Path

import pytest

import truedraw

SOURCE = Path(truedraw.__file__).parent


def said(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""


PACKAGES = [path.parent for path in sorted(SOURCE.rglob("__init__.py"))]
NAME = r"[\w./]+\.py\b"
LISTS = [package for package in PACKAGES if re.search(rf"^{NAME}", said(package), re.M)]


def name(package: Path) -> str:
    return package.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("package", PACKAGES, ids=name)
def test_every_file_that_is_named_is_there(package):
    named = re.findall(NAME, said(package))
    assert [each for each in named if not ((package / each).is_file() or (SOURCE / each).is_file())] == []


@pytest.mark.parametrize("package", LISTS, ids=name)
def test_every_file_stands_in_the_list(package):
    files = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    assert files - set(re.findall(NAME, said(package))) == set()
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert folders - set(re.findall(r"^(\w+)/", said(package), re.M)) == set()
