"""Settings of suffix decoding: what each may be, and which cannot stand together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truedraw.draft.handed_down import check_tree
from truedraw.errors import BadParameter
from truedraw.sampling.ranges import NOT_NEGATIVE, SHARE, Numbers, Wholes
from truedraw.sampling.values import is_one_of, shown

TEXT, PROMPT, ALL = "text", "prompt", "all"
SCOPES = (TEXT, PROMPT, ALL)
CACHED_TEXTS = 10_000
CACHED_BYTES = 4 << 20  # 1 % of a model of 135 M parameters and its cache at work, the smallest that is served
RANGES: dict[str, Numbers | Wholes] = {
    "suffix_decoding_max_tree_depth": Wholes(2, "2 to 2**30: a token to look up and one to draft, or more", 1 << 30),
    "suffix_decoding_max_cached_requests": Wholes(0, "0 or more; 0 keeps nothing for other texts"),
    "suffix_decoding_max_cached_bytes": Wholes(0, "0 or more; 0 keeps nothing for other texts"),
    "suffix_decoding_max_spec_factor": NOT_NEGATIVE,
    "suffix_decoding_min_token_prob": SHARE,
}
KEPT = {"suffix_decoding_max_cached_requests": CACHED_TEXTS, "suffix_decoding_max_cached_bytes": CACHED_BYTES}


def check(given: Mapping[str, Any]) -> None:
    """The drafter's settings by name; raises BadParameter."""
    for name, allowed in RANGES.items():
        allowed.check(name, given[name])
    if not is_one_of(given["suffix_decoding_scope"], SCOPES):
        scope = given["suffix_decoding_scope"]
        raise BadParameter("suffix_decoding_scope", f"got {shown(scope)}; give one of: {', '.join(SCOPES)}")
    check_kept(given)
    check_tree("suffix_decoding_tree", given["suffix_decoding_tree"], given["trees"])
    if not isinstance(index := given["suffix_decoding_index"], str | Path | None) or index == "":
        raise BadParameter("suffix_decoding_index", f"got {shown(index)}; give a file that `truedraw index build` made")


def check_kept(given: Mapping[str, Any]) -> None:
    """Raises BadParameter for what is to be kept for other texts where no text looks at another."""
    for name, usual in KEPT.items():
        if given["suffix_decoding_scope"] == TEXT and given[name] not in (usual, 0):
            raise BadParameter(
                name,
                f'got {shown(given[name])}, but with suffix_decoding_scope "{TEXT}" nothing is kept for other texts; '
                "leave one of the two out",
            )
