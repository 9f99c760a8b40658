"""Rational programs and functions: how they are written, evaluated and fitted."""
