"""What a person wrote, as frozen objects; no numpy, no xarray."""
