"""A progress bar in a notebook."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape

from sharpbayes.execution.progress import ChainStatus, ProgressCallback, silent


@contextmanager
def show_bar() -> Iterator[ProgressCallback]:
    """Yield a callback that shows the present step in a notebook, and nothing elsewhere.

    The bar is the share of finished draws while a sampler runs. It goes away at the end.
    """
    if not is_notebook():
        yield silent
        return
    from IPython.display import HTML, display  # noqa: PLC0415 - only a notebook has it

    handle = display(HTML(""), display_id=True)

    def update(message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        handle.update(HTML(format_bar(message, chains)))

    try:
        yield update
    finally:
        handle.update(HTML(""))


def is_notebook() -> bool:
    """Return whether the code runs in the kernel of a notebook, not beside a package of one."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython  # noqa: PLC0415 - a kernel has loaded it

    return getattr(get_ipython(), "kernel", None) is not None


def format_bar(message: str, chains: Sequence[ChainStatus] = ()) -> str:
    """Return the HTML of a step, with a bar of the draws of its chains.

    >>> format_bar("reading data")
    '<progress></progress> reading data'
    >>> format_bar("sampling", [ChainStatus(500, 500), ChainStatus(250, 500, divergences=2)])
    '<progress value="750" max="1000"></progress> sampling: 750/1000 draws, 2 divergences'
    """
    if not chains:
        return f"<progress></progress> {escape(message)}"
    done = sum(chain.finished_draws for chain in chains)
    total = sum(chain.total_draws for chain in chains)
    divergences = sum(chain.divergences for chain in chains)
    bar = f'<progress value="{done}" max="{total}"></progress>'
    return f"{bar} {escape(message)}: {done}/{total} draws, {divergences} divergences"
