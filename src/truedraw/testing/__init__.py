"""Tools for proving that an engine, a drafter or a verifier keeps its contract."""
