"""The command ``sharpbayes``, also as ``python -m sharpbayes``."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C while its modules are loaded ends it as Ctrl-C later does."""
    try:
        from sharpbayes.cli.commands import main as run  # noqa: PLC0415 - Ctrl-C comes while it loads

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
