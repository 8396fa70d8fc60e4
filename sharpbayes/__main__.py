"""``python -m sharpbayes``."""

from sharpbayes.cli import main

if __name__ == "__main__":
    main()
