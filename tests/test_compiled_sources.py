"""What compiled functions are made of is what their machine code is kept by."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from truedraw.compiled import PACKAGE, folders

MAKERS = {"compiled", "inner", "inlined", "apart", "overload", "intrinsic"}
ALL = "*"
Named = tuple[str, str]  # a module, and what is taken of it


def is_compiled(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    calls = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(isinstance(each, ast.Name) and each.id in MAKERS for each in calls)


def defined(tree: ast.Module) -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {
                each.id: node for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)
            }
    return found


def names_in(tree: ast.Module, name: str | None) -> set[str]:
    """All that a function, or a number, of a module speaks of; ALL of it; None: what is compiled there."""
    own, found = defined(tree), set[str]()
    todo = [own[name]] if name in own else [each for each in tree.body if name == ALL or is_compiled(each)]
    while todo:
        spoken = {node.id for node in ast.walk(todo.pop()) if isinstance(node, ast.Name)}
        todo += [own[each] for each in spoken - found if each in own]
        found |= spoken
    return found


def imported(tree: ast.Module) -> dict[str, Named]:
    """By its name here; of a module that is imported itself, ALL."""
    found = dict[str, Named]()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("truedraw"):
            for each in node.names:
                is_module = file_of(f"{node.module}.{each.name}").exists()
                taken = (f"{node.module}.{each.name}", ALL) if is_module else (node.module, each.name)
                found[each.asname or each.name] = taken
    return found


def file_of(module: str) -> Path:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def used_by(file: Path, seen: set[tuple[Path, str]], name: str | None = None) -> Iterator[Path]:
    """Files that what is compiled in a file is made of, however far away."""
    tree = ast.parse(file.read_text())
    others = imported(tree)
    for each in names_in(tree, name) & others.keys():
        module, theirs = others[each]
        there = file_of(module)
        if (there, theirs) not in seen:
            seen.add((there, theirs))
            yield there
            yield from used_by(there, seen, theirs)


def made_here() -> list[str]:
    files = (each for each in PACKAGE.rglob("*.py") if "@compiled(" in each.read_text())
    return sorted(str(each.relative_to(PACKAGE)) for each in files)


@pytest.mark.parametrize("name", made_here())
def test_whatever_may_change_machine_code_stands_in_a_folder_that_is_looked_at(name: str) -> None:
    file = PACKAGE / name
    used = set(used_by(file, set()))
    kept = folders(file.parent)
    assert [str(each) for each in used if each.parent not in kept and each.parent != PACKAGE] == []


def test_it_would_be_found_out() -> None:
    """Numbers of other folders stand in the passes, and in the chains of heads."""
    layers = set(used_by(PACKAGE / "engine/native/decoder.py", set()))
    chains = set(used_by(PACKAGE / "draft/head/kinds/attentive_chain.py", set()))
    assert any(each.parent == PACKAGE / "engine/constants" for each in layers)
    assert PACKAGE / "draft/growing.py" in chains
