"""The parts of nutpie that the kernel uses and that its documentation does not promise."""

import dataclasses
from importlib.metadata import version

import nutpie
from nutpie.compile_pymc import CompiledPyMCModel

# With another minor version run the tests of this folder, then change this line and the upper
# bound in pyproject.toml.
TESTED = "0.16"
GIVEN = {"_n_dim", "dims", "_coords", "_shapes", "compiled_logp_func", "compiled_expand_func"}
GIVEN |= {"initial_point_func", "shared_data", "shared_var_keys", "user_data", "n_expanded"}
GIVEN |= {"shape_info", "logp_func", "expand_func", "reparameterized_names"}


def test_nutpie_is_of_the_version_that_was_tested():
    assert version("nutpie").startswith(f"{TESTED}."), nutpie.__file__


def test_a_compiled_model_takes_what_the_kernel_gives():
    fields = {field.name: field for field in dataclasses.fields(CompiledPyMCModel)}
    required = {n for n, field in fields.items() if field.default is dataclasses.MISSING}
    assert required <= GIVEN <= set(fields)
