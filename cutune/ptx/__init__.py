"""PTX as data: statements, control flow, and what values depend on."""
