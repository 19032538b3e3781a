"""python -m truedraw."""

from truedraw.cli.main import main

if __name__ == "__main__":
    main()
