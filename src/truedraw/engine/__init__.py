"""Engines: they run a target over many texts at once (protocol.Engine).

cpu/        the default: any number of texts and draft trees in one pass, by either of the next two
native/     passes by kernels of this package
openvino/   passes by a graph that OpenVINO compiles, or that comes as an IR folder
paged/      texts in the pages of a cache, and what a pass is to compute of them, whoever computes it
constants/  weights in the form that passes read, converted once and kept
pytorch/    any architecture that transformers knows, on any device
drafted/    an engine whose own passes are drafted
contrastive.py  a model held against an amateur
tabular.py  an exact toy; meaningless.py  texts that engines are tried with

numerics.py  the arithmetics that the default one can be loaded with; options.py  and what goes together with them
texts.py, works.py, trees.py  what every engine asks of texts, of the works of a pass and of proposals
shown.py  hidden states that passes have shown of a text; cache_use.py  what a cache of pages holds
logits_cache.py  rows of logits by the texts they follow; logits_places.py  where they stand, logits_rows.py  how
record_files.py  small files of what was found out about a model or a machine
segments.py, mappings.py, code_pages.py  what this process has in memory
"""

DEFAULT_ENGINE = "openvino"  # unless another one is asked for
DEFAULT_NUMERICS = "invariant"  # of that one
