"""Microseconds of one gradient without a slope and with one; prints a table.

    taskset -c 0 python -m tests.benchmarks.slope_speed
    PYTHONPATH=OLDER python tests/benchmarks/slope_speed.py --without

``--without`` measures only models without slopes, of a version that knows none. Each number is the
median over three rounds of a second of calls.
"""

import argparse
import statistics
from dataclasses import replace

import numpy as np

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.library import find
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from tests.benchmarks.engine_case import crowd, kernel_microseconds, panel, table

ROUNDS = 3
# Column of each case, the factors whose crossing has a number each, and what the slope is by.
PANEL_SLOPES = {
    "length of answers": ("length", ("model", "prompt"), ()),
    "length of answers, by judge": ("length", ("model", "prompt"), ("judge",)),
    "time of judgements, by judge": ("time", ("model", "prompt", "judge"), ("judge",)),
}
CROWD_SLOPES = {
    "age of raters": ("age", ("rater",), ()),
    "time of ratings, by rater": ("time", ("item", "rater"), ("rater",)),
}


def cases(without):
    """Name, ratings and model of each case."""
    panels, crowds = panel((2, 2), prompts=200), crowd(table("gradient-crowd", 1))
    for shipped, ratings, slopes in (
        ("judge_panel", panels, PANEL_SLOPES),
        ("crowd_severity", crowds, CROWD_SLOPES),
    ):
        model = load(find("models", shipped), Model).spec
        yield shipped, ratings, model
        for name, (column, units, by) in ({} if without else slopes).items():
            content = model.model_dump(by_alias=True) | {"slope": [{"column": column, "by": by}]}
            sloped = Model.model_validate(content)
            yield f"{shipped}, slope of {name}", with_number(ratings, column, units), sloped


def with_number(ratings, column, units):
    """The ratings with a number for each crossing of some factors."""
    from sharpbayes.data.covariates import Covariate  # noqa: PLC0415 - older versions lack it

    factors = [ratings.factors[name] for name in units]
    shape = tuple(len(factor.labels) for factor in factors)
    codes = np.ravel_multi_index([factor.codes for factor in factors], shape)
    values = np.random.default_rng(2).normal(size=int(np.prod(shape)))
    return replace(ratings, covariates={column: Covariate(column, values, codes)})


def main():
    """Measure, print rows as they come."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.slope_speed")
    parser.add_argument("--without", action="store_true")
    print("| model | ratings | microseconds | to the model without |\n| --- | --- | --- | --- |")
    base = 1.0
    for name, ratings, model in cases(parser.parse_args().without):
        design = build_design(ratings, model)
        layout = parameter_layout(design)
        point = initial_point(design, layout, seed=1)
        times = [kernel_microseconds(layout, point) for _ in range(ROUNDS)]
        middle = statistics.median(times)
        base = base if "slope" in name else middle
        spread = f"{middle:.0f} ({min(times):.0f} to {max(times):.0f})"
        print(f"| {name} | {design.n_ratings:,} | {spread} | {middle / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
