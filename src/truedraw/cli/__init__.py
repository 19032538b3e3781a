"""The command line: one file a verb. Text goes to stdout, everything about it to stderr."""
