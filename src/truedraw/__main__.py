"""python -m truedraw."""

from truedraw.cli.start import main

if __name__ == "__main__":
    main()
