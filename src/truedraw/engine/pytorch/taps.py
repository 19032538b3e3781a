"""The residual streams of a running model, read by hooks: transformers returns the last one only behind its norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from torch import Tensor

STREAM_AXES = 3  # texts, rows, width


class Taps:
    """Reads the streams behind some layers and what the head is given: the final norm's output.

    Transformers cuts that to the rows whose logits are wanted. `whole`: others can be read too, from what the decoder
    below the head returns, as long as the two are one: `reads_whole`. Raises BadParameter for a layer that the model
    does not have, or where its layers or its head cannot be told.
    """

    def __init__(self, model: Any, hidden_layers: tuple[int, ...], *, whole: bool = False) -> None:
        layers, head = _layers(model), model.get_output_embeddings()
        if not layers or head is None:
            raise BadParameter("hidden_layers", f"the layers of a {type(model).__name__} cannot be told; leave it out")
        if any(not 0 <= layer < len(layers) for layer in hidden_layers):
            raise BadParameter("hidden_layers", f"{hidden_layers} are not all among 0 to {len(layers) - 1}")
        self._order = hidden_layers
        self._streams: dict[int, Tensor] = {}
        self._final: Tensor | None = None
        for layer in set(hidden_layers):
            layers[layer].register_forward_hook(self._reader(layer))
        head.register_forward_pre_hook(self._read_final)
        self.reads_whole = whole
        self._returned: Tensor | None = None
        if whole:
            model.base_model.register_forward_hook(self._read_returned)

    def read(self, keep: int) -> Tensor:
        """Of the last `keep` rows of the last run, [parts, keep, layers + 1, width]; nothing of it stays here.

        Raises BadParameter where streams differ in their widths, or a layer has several.
        """
        import torch

        assert self._final is not None
        final = self._final if keep <= self._final.shape[1] else self._returned
        found = [*(self._streams[layer] for layer in self._order), final]
        _check_axes([stream.ndim for stream in found])
        _check_widths([stream.shape[-1] for stream in found])
        self._streams, self._final, self._returned = {}, None, None
        return torch.stack([stream[:, -keep:] for stream in found], 2)

    def _reader(self, layer: int) -> Any:
        def read(_module: Any, _inputs: Any, output: Any) -> None:
            self._streams[layer] = output[0] if isinstance(output, tuple) else output

        return read

    def _read_final(self, _module: Any, inputs: Any) -> None:
        self._final = inputs[0]
        if self.reads_whole:
            self.reads_whole = _ends_in(self._returned, self._final)

    def _read_returned(self, _module: Any, _inputs: Any, output: Any) -> None:
        self._returned = getattr(output, "last_hidden_state", None) if self.reads_whole else None


def _ends_in(whole: Tensor | None, rows: Tensor) -> bool:
    """Whether these are its last rows."""
    return whole is not None and whole.shape[-1] == rows.shape[-1] and bool((whole[:, -rows.shape[1] :] == rows).all())


def _check_axes(axes: list[int]) -> None:
    if any(count != STREAM_AXES for count in axes):
        raise BadParameter(
            "hidden_layers",
            "the layers of this model have several streams each, and what drafts reads one; leave it out",
        )


def _check_widths(widths: list[int]) -> None:
    if len(set(widths)) > 1:
        raise BadParameter(
            "hidden_layers", f"the streams of this model are {widths} numbers wide, the one before its head last, and "
            "what drafts reads streams of one width; leave it out"
        )  # fmt: skip


def _layers(model: Any) -> Any:
    """The list of decoder layers: the outermost one of the right length; None where there is none."""
    from torch.nn import ModuleList

    count = model.config.get_text_config().num_hidden_layers
    lists = (module for module in model.modules() if isinstance(module, ModuleList))
    return next((found for found in lists if len(found) == count), None)
