"""PTX as data: its statements, control flow, and what values depend on."""
