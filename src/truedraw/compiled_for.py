"""What this processor has, of what code is compiled for."""

from __future__ import annotations

import ctypes
import platform
import sys
from contextlib import suppress

from numba.core import config
from numba.core.codegen import get_host_cpu_features

HARDWARE, DOT_PRODUCTS = 16, 1 << 20  # Linux: AT_HWCAP, and of it HWCAP_ASIMDDP
PRODUCTS_OF_WINDOWS = 43  # PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
IS_ARM = platform.machine().lower() in ("aarch64", "arm64")
IS_OTHER = config.CPU_NAME not in (None, "host") or config.CPU_FEATURES is not None  # than this one: it was said which


def _told() -> set[str]:
    listed: str = (config.CPU_FEATURES or "") if IS_OTHER else get_host_cpu_features()
    return {name[1:] for name in listed.split(",") if name.startswith("+")}


def _has_dot_products() -> bool:
    """Whether an ARM processor adds up products of 8 bits; all of Apple's do."""
    if sys.platform == "darwin":
        return True
    with suppress(OSError, AttributeError):
        if sys.platform == "win32":
            return bool(ctypes.WinDLL("kernel32").IsProcessorFeaturePresent(PRODUCTS_OF_WINDOWS))
        asked = ctypes.CDLL(None).getauxval
        asked.argtypes, asked.restype = [ctypes.c_ulong], ctypes.c_ulong
        return bool(asked(HARDWARE) & DOT_PRODUCTS)
    return False


UNTOLD = ("dotprod",) if IS_ARM and not IS_OTHER and _has_dot_products() else ()
"""What LLVM does not know of all processors that have it, nor numba, which keeps code for processors that it tells
apart."""
FEATURES = {*_told(), *UNTOLD, *(["neon"] if IS_ARM else [])}
"""By their names in LLVM."""
HAS_LONG_VECTORS = "avx512vbmi2" in FEATURES
"""Whether its vectors have 512 bits and it is not slowed down by them: those that have them without this are."""
