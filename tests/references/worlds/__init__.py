"""Worlds that the program's models do not know, by plain NumPy; see ``python -m`` of this package.

One file a world. Nothing here imports ``sharpbayes.simulation`` or ``sharpbayes.bayes``: the truth
comes from the law that is written in the file of the world and from the formulas in
:mod:`tests.references.worlds.panel` and :mod:`tests.references.worlds.crowd`.

A world of judges is a function ``see(rng, panel, prompts)``. It draws new prompts and returns the
severities that the judges see, (model, prompt, judge, indicator), and those that people see,
(model, prompt, indicator). A world of raters is a function ``rate(rng, crowd, severity)``: the
scores (item, rater) that the raters of a study give to items of these severities. The study and the
population that its truth is computed from are drawn by the same function.
"""
