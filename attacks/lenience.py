"""p / q counts more than once: a rule that some offer as an option, here fenced (truedraw/verify/lossy)."""

from attacks.attack import Attack, enumerated
from truedraw.verify.lossy.lenient import LenientVerifier

ATTACK = Attack("lossy on purpose: lenience 1.3", enumerated(LenientVerifier(1.3)))
