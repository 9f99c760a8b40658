"""Values to SVG and to tables of cells: nothing here reads files."""
