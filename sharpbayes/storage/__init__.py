"""Results and checkpoints, on disk and back."""
