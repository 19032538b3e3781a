"""Engines: they run a target over many texts at once (protocol.Engine).

cpu/        the default: any number of texts and draft trees in one pass, by either of the next two
native/     passes by kernels of this package
openvino/   passes by a graph that OpenVINO compiles, or that comes as an IR folder
paged/      texts in the pages of a cache, and what a pass is to compute of them, whoever computes it
constants/  weights in the form that passes read, converted once and kept
pytorch/    any architecture that transformers knows, on any device
drafted/    an engine whose own passes are drafted
numerics.py  the arithmetics that the default one can be loaded with; options.py  and what goes together with them
tabular.py  an exact toy; meaningless.py  texts that engines are tried with
"""

DEFAULT_ENGINE = "openvino"  # unless another one is asked for
DEFAULT_NUMERICS = "invariant"  # of that one
