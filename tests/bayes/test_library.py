"""The sampler's library: ArviZ's plots stay away until somebody asks for them."""

import subprocess
import sys

CODE = """
import sys
from sharpbayes.bayes.sampling.nutpie_loader import nutpie
library = nutpie()
assert "arviz" not in sys.modules and "matplotlib" not in sys.modules
inside = sys.modules["nutpie.sample"].arviz
import arviz
assert inside.from_dict is arviz.from_dict
assert arviz.__file__ and arviz.plot_forest
"""


def test_arviz_loads_when_it_is_asked_for_and_is_itself():
    subprocess.run([sys.executable, "-c", CODE], check=True)
