"""Processes that a test interrupts."""

import signal


def heed_ctrl_c():
    """A shell's background jobs ignore Ctrl-C, and hand that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
