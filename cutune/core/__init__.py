"""Texts, files and messages: what everything stands on."""
