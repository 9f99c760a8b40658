"""Lark grammars, read with `Lark.open_from_package`."""
