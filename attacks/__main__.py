"""python -m attacks [--markdown] [NAME ...]."""

from attacks.run import main

main()
