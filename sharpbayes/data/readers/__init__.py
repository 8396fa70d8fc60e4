"""Tables and logs of other programs as tables of text; one file a format."""
