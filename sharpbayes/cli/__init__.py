"""Arguments in, text and exit status out; the only room that prints and exits."""

from sharpbayes.cli.commands import main

__all__ = ["main"]
