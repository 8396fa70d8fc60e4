"""``python -m sharpbayes``."""

from sharpbayes.cli.commands import main

if __name__ == "__main__":
    main()
