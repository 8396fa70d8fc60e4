"""Results, checkpoints and checksums, on disk and back."""
