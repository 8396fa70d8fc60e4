"""Mistakes in how a command was called, as Typer says them, with what was found."""

from typing import Any

import typer
from typer.core import TyperGroup


class Commands(TyperGroup):
    """The commands; a value that an option cannot have is shown in its error."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            problems: Any = getattr(error.__cause__, "errors", list)()
            if problems and isinstance(problems[0], dict):
                error.message = f"found {problems[0]['input']!r}; {error.message}"
            raise
