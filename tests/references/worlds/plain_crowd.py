"""Raters as ``crowd_and_labels`` knows them: they differ by a bias alone."""

from tests.references.worlds.crowd import CrowdWorld

WORLD = CrowdWorld()
