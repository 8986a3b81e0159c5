"""The program's beginning: `dedupe`, and `python -m dedupe`.

Where workers cannot be forked they import this module, so that it imports nothing by itself.
"""


def main() -> None:
    """Run the program and end the process with its exit code."""
    import gc

    gc.disable()  # no command makes cycles worth finding, and looking for them took a fifth of a scan's time
    from dedupe import cli

    cli.main()


if __name__ == "__main__":
    main()
