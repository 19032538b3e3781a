"""The default engine: paged attention on CPUs, one ragged pass for any number of texts and draft trees."""

from truedraw.engine.openvino.engine import OpenVINOEngine
from truedraw.engine.openvino.selftest import InvarianceReport, check_invariance

__all__ = ["InvarianceReport", "OpenVINOEngine", "check_invariance"]
