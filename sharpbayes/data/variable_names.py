"""Names of columns in names of variables, which have no slash."""


def encode_column(column: str) -> str:
    """Return a column's name without a slash, from which :func:`decode_column` makes it again.

    >>> encode_column("Race/Ethnicity"), decode_column(encode_column("a/b %2F"))
    ('Race%2FEthnicity', 'a/b %2F')
    """
    return column.replace("%", "%25").replace("/", "%2F")


def decode_column(name: str) -> str:
    """Return the column that :func:`encode_column` was given."""
    return name.replace("%2F", "/").replace("%25", "%")
