"""A persistent index of texts for the suffix drafter: one file that is mapped, never loaded."""
