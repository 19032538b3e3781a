"""What was asked of a tuning, as far as it takes more than one flag to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.errors import BadParameter

TRY = "--try"


def further_configs(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """What was asked for besides; raises BadParameter and UnknownName."""
    from truedraw.cli.speculating import config_of
    from truedraw.generate.speculation import OFF, speculation

    further: list[Mapping[str, Any]] = [config_of(TRY, text) for text in texts]
    for config in further:
        if speculation(config or None).method == OFF:
            raise BadParameter(TRY, "plain sampling is measured in any case; leave it out")
    return further
