"""How transformers is asked for a folder: nothing is fetched, and no code that lies in it is run."""

from __future__ import annotations

from typing import Any

HOW: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Left unsaid, transformers asks on the terminal whether it may run a folder's code."""
NO_CODE = (
    "it needs Python code that lies in its folder, and such code is never run here; take a model of an architecture "
    "that transformers itself has, perhaps a newer transformers"
)


def reason(error: Exception) -> str:
    """What transformers says in the first paragraph of an error, as one line."""
    said = str(error).strip()
    if "trust_remote_code" in said:
        return NO_CODE
    return " ".join(said.partition("\n\n")[0].split())[:300] or type(error).__name__
