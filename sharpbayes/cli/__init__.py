"""Arguments in, text and exit status out; the only room that prints and exits."""
