"""Other tuners and their file formats, beside cutune's own search."""
