"""Results whose checksum is right and whose content is not: a generator of such files."""

import json

import numpy as np
import xarray as xr

from sharpbayes.storage.checksums import append_checksum

BAD_VALUES = (np.nan, np.inf, -np.inf, -1, 1e300)
BAD_ATTRIBUTES = ("", "x" * 30_000, "[", "{}", "[1]", np.nan, -5, np.arange(3), "9" * 5000)


def save_changed(results, path, generator):
    """Write results with one to three changes; return what was changed, in words.

    Empty where netCDF cannot write what came of it.
    """
    groups = {
        "/": xr.Dataset(attrs=results.attrs),
        **{f"/{name}": node.to_dataset() for name, node in results.children.items()},
    }
    changes = [CHANGES[generator.integers(len(CHANGES))] for _ in range(generator.integers(1, 4))]
    descriptions = [change(groups, generator) for change in changes]
    try:
        xr.DataTree.from_dict(groups).to_netcdf(path, engine="netcdf4")
    except (RuntimeError, TypeError, ValueError):
        return []
    append_checksum(path)
    return descriptions


def pick(options, generator):
    """One of several things."""
    options = [*options]
    return options[generator.integers(len(options))]


def pick_variable(groups, generator):
    """A group with variables, and one of them."""
    group = pick([name for name, data in groups.items() if data.data_vars], generator)
    return group, pick(groups[group].data_vars, generator)


def drop_group(groups, generator):
    group = pick([name for name in groups if name != "/"], generator)
    del groups[group]
    return f"without {group}"


def drop_variable(groups, generator):
    group, name = pick_variable(groups, generator)
    groups[group] = groups[group].drop_vars(name)
    return f"without {group}/{name}"


def empty_group(groups, generator):
    group = pick([name for name in groups if name != "/"], generator)
    groups[group] = xr.Dataset()
    return f"{group} without content"


def rename_dim(groups, generator):
    group, name = pick_variable(groups, generator)
    dims = groups[group][name].dims
    if dims:
        groups[group] = groups[group].rename({pick(dims, generator): "other_name"})
    return f"{group}: dims {dims}, one renamed"


def shorten_dim(groups, generator):
    group, name = pick_variable(groups, generator)
    dims = groups[group][name].dims
    if dims:
        dim, size = pick(dims, generator), int(generator.integers(0, 2))
        groups[group] = groups[group].isel({dim: slice(0, size)})
    return f"{group}: dims {dims}, one cut to 0 or 1"


def drop_dim(groups, generator):
    group, name = pick_variable(groups, generator)
    array = groups[group][name]
    if array.dims and all(array.sizes.values()):
        groups[group][name] = array.isel({pick(array.dims, generator): 0}, drop=True)
    return f"{group}/{name}: a dimension less"


def make_text(groups, generator):
    group, name = pick_variable(groups, generator)
    array = groups[group][name]
    groups[group][name] = (array.dims, np.full(array.shape, "text", dtype="U4"))
    return f"{group}/{name}: text"


def make_number(groups, generator):
    group, name = pick_variable(groups, generator)
    array = groups[group][name]
    groups[group][name] = (array.dims, np.full(array.shape, 7.5))
    return f"{group}/{name}: numbers without attributes"


def make_bad(groups, generator):
    group, name = pick_variable(groups, generator)
    array, value = groups[group][name], pick(BAD_VALUES, generator)
    groups[group][name] = (array.dims, np.full(array.shape, value), array.attrs)
    return f"{group}/{name}: {value}"


def change_labels(groups, generator):
    group = pick([name for name, data in groups.items() if data.coords], generator)
    dims = [name for name in groups[group].coords if name in groups[group].dims]
    if dims:
        dim = pick(dims, generator)
        size = groups[group].sizes[dim]
        groups[group] = groups[group].assign_coords({dim: ["same"] * size})
    return f"{group}: labels of one dimension are all alike"


def change_attribute(groups, generator):
    group = pick([name for name, data in groups.items() if data.attrs], generator)
    name, value = pick(groups[group].attrs, generator), pick(BAD_ATTRIBUTES, generator)
    if (group, name) != ("/", "schema"):
        groups[group] = groups[group].assign_attrs({name: value})
    return f"{group}: attribute {name} is {str(value)[:20]!r}"


def drop_attributes(groups, generator):
    group = pick([name for name in groups if name != "/"], generator)
    groups[group] = groups[group].assign_attrs({}).copy()
    groups[group].attrs = {}
    return f"{group} without attributes"


def replace_study(groups, generator):
    overrides = json.dumps(["seed=" + "9" * 5000])
    name, value = pick([("study", "= ="), ("overrides", overrides), ("weights", "[")], generator)
    groups["/"] = groups["/"].assign_attrs({name: value})
    return f"another {name}"


CHANGES = (
    *(drop_group, drop_variable, empty_group, rename_dim, shorten_dim, drop_dim, make_text),
    *(make_number, make_bad, change_labels, change_attribute, drop_attributes, replace_study),
)
