"""The program's beginning: `dedupe`, and `python -m dedupe`.

Where workers cannot be forked they import this module, so that it imports nothing by itself.
"""


def main() -> None:
    """Run the program and end the process with its exit code."""
    import gc

    gc.disable()  # looking for cycles took a fifth of a scan's time, and there are next to none
    from dedupe import cli

    cli.main()


if __name__ == "__main__":
    main()
