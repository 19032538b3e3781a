"""Engines: they run a target over many texts at once (protocol.Engine)."""
