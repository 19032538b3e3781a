"""Ready-made OpenVINO IR folders: a stateful language model becomes a paged one with our look-ups between rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.engine.openvino.graph import ROW_INPUTS
from truedraw.engine.openvino.nodes import named, parameter, take_rows
from truedraw.engine.openvino.paging import PAGED, SHARED
from truedraw.engine.openvino.stateful import read_graph, reason
from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models import Checkpoint

LOGITS = "logits"
FED = {"input_ids", "position_ids", *(name for name, _, _ in SHARED), *ROW_INPUTS}


def read_ir(checkpoint: Checkpoint) -> Any:
    """The paged model of the folder, with the inputs and the output of graph.build, but position_ids for cos, sin.

    Raises UnsupportedModel where the folder holds no decoder that can be paged.
    """
    model = read_graph(checkpoint.path)  # with the runtime loaded
    from openvino._offline_transformations import paged_attention_transformation

    try:
        paged_attention_transformation(model, allow_qq_bias=True)
    except RuntimeError as error:
        raise UnsupportedModel(
            f"{checkpoint.path} cannot be run page by page ({reason(error)}); "
            "export it as a stateful text-generation model"
        ) from error
    _check_inputs(checkpoint, model)
    _keep_logits(checkpoint, model)
    _look_up_rows(checkpoint, model)
    model.validate_nodes_and_infer_types()
    return model


def _check_inputs(checkpoint: Checkpoint, model: Any) -> None:
    names = {port.get_any_name() for port in model.inputs}
    strange = sorted(name for name in names - FED if "_cache." not in name)
    if strange or "input_ids" not in names or not any("_cache." in name for name in names):
        raise UnsupportedModel(
            f"{checkpoint.path} is not a plain stateful language model: "
            + (f"its inputs {', '.join(strange)} are unknown" if strange else "it has no input_ids or no cache")
            + "; export it for text generation with a cache"
        )


def _keep_logits(checkpoint: Checkpoint, model: Any) -> None:
    """No other output, and no state but the cache, which alone belongs to one text."""
    wanted = _logits(checkpoint, model).get_node()
    for result in model.get_results():
        if result.get_friendly_name() != wanted.get_friendly_name():
            model.remove_result(result)
    if any(node.get_type_name() == "ReadValue" for node in model.get_ops()):
        raise UnsupportedModel(
            f"{checkpoint.path} keeps something of a text beside the cache of its attention, as recurrent layers and "
            "convolutions do, which cannot be run page by page; the engine pytorch runs the model it was made from"
        )


def _logits(checkpoint: Checkpoint, model: Any) -> Any:
    """The only output, or the one that is named so, whose rows must be as long as config.json says."""
    names = {name for port in model.outputs for name in port.get_names()}
    if len(model.outputs) > 1 and LOGITS not in names:
        raise UnsupportedModel(f"{checkpoint.path} has several outputs, and none is called {LOGITS}; export it again")
    found = model.output(LOGITS) if LOGITS in names else model.outputs[0]
    width = found.get_partial_shape()[-1]
    if width.is_static and width.get_length() != checkpoint.config.vocab_size:
        raise BadModelFile(
            f"{checkpoint.path}: config.json says vocab_size = {checkpoint.config.vocab_size}, and the graph's logits "
            f"are {width.get_length()}; put the config.json there that the graph was exported with"
        )
    return found


def _look_up_rows(checkpoint: Checkpoint, model: Any) -> None:
    """Add attention_rows and back_rows around every attention node, logit_rows before the head."""
    rows = {name: parameter(name, [-1], np.int32) for name in ROW_INPUTS}
    for node in [node for node in model.get_ops() if node.get_type_name() == PAGED]:
        for port in range(3):  # q, k, v
            node.input(port).replace_source_output(_taken(node.input_value(port), rows["attention_rows"]))
        users = list(node.output(0).get_target_inputs())
        back = _taken(node.output(0), rows["back_rows"])
        for user in users:
            user.replace_source_output(back)
    head = _head(checkpoint, model)
    head.input(0).replace_source_output(_taken(head.input_value(0), rows["logit_rows"]))
    model.add_parameters(list(rows.values()))


def _taken(output: Any, rows: Any) -> Any:
    return take_rows(output, rows).output(0)


def _head(checkpoint: Checkpoint, model: Any) -> Any:
    """The last MatMul before the output, which is named `logits`."""
    output = _logits(checkpoint, model)
    node = output.get_node().input_value(0).get_node()
    named(node, LOGITS)
    output.get_tensor().set_names({LOGITS})
    while node.get_type_name() != "MatMul":
        if node.get_input_size() == 0:
            raise UnsupportedModel(f"{checkpoint.path} does not end in a matrix product that gives logits")
        node = node.input_value(0).get_node()
    return node
