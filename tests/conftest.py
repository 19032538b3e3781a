"""Shared fixtures; the oracle and the known laws are plain modules beside this file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
