"""Passes by a graph that OpenVINO compiles: built from weights, or read from an IR folder."""
