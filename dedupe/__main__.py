"""`python -m dedupe` is `dedupe`."""

from dedupe.cli import main

if __name__ == "__main__":
    main()
