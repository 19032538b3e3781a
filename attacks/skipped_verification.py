"""Confident drafts are kept without verification, one in ten audited; here fenced (truedraw/verify/lossy)."""

from attacks.attack import Attack, enumerated
from truedraw.verify.lossy.skip import SkipVerifier

ATTACK = Attack("lossy on purpose: drafts with max q of 0.6 or more are not verified", enumerated(SkipVerifier(0.6)))
