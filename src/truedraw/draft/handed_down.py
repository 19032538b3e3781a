"""What a drafter of certain tokens has learnt, one store a prompt: its samples share it, the next prompt inherits it.

A new prompt begins with a copy of what the prompt opened before it knows by then, so later texts of a run profit from
earlier ones, while texts of different prompts that run side by side do not see one another. A store lives as long as a
text uses it; the one opened last lives on for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from truedraw.draft.shared_index import fingerprint
from truedraw.errors import BadParameter
from truedraw.sampling.values import is_one_of, shown

PROMPT, ALL = "prompt", "all"
SCOPES = (PROMPT, ALL)

Store = TypeVar("Store")


class HandedDown(Generic[Store]):
    """Stores by prompt, or one for everybody where the scope is "all"; `copied` makes a copy of one."""

    def __init__(self, empty: Store, copied: Callable[[Store], Store], scope: str = PROMPT) -> None:
        self.latest = empty
        self._copied, self._for_all = copied, scope == ALL
        self._in_use: WeakValueDictionary[bytes, Store] = WeakValueDictionary()

    def open(self, prompt: Sequence[int]) -> tuple[Store, bool]:
        """The store of a text that begins with `prompt`, and whether no running text has begun so."""
        name = fingerprint(prompt)
        store = self._in_use.get(name)
        if store is not None:
            return store, False
        if not self._for_all:
            self.latest = self._copied(self.latest)
        self._in_use[name] = self.latest
        return self.latest, True


def check_scope(name: str, scope: object) -> None:
    """A setting that says who shares a store; raises BadParameter."""
    if not is_one_of(scope, SCOPES):
        raise BadParameter(name, f"got {shown(scope)}; give one of: {', '.join(SCOPES)}")


def check_tree(name: str, tree: object, trees: bool | None) -> None:
    """A setting that can ask for trees, of a rule that takes them or not; raises BadParameter."""
    if tree is not None and not isinstance(tree, bool):
        raise BadParameter(name, f"got {shown(tree)}; give true or false")
    if tree and trees is False:
        raise BadParameter(
            name,
            "the rule takes chains only; leave this out, or take another rule as rejection_sample_method: "
            '"traversal" takes every tree',
        )
