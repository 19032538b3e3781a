"""The same training where torch runs the target, on a graphics card above all: texts are written thousands at once, and
what the target knew at each row stands in the device's memory instead of on the disk."""

from truedraw.distill.wide.cards import fast_products
from truedraw.distill.wide.stage import is_wide, prepared_wide

__all__ = ["fast_products", "is_wide", "prepared_wide"]
