"""How much to draft, decided before a draft is drawn."""
