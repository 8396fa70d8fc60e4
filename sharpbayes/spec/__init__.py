"""What a person wrote, as frozen objects with documented fields; no numpy, no xarray."""
