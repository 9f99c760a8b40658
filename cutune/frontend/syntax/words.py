"""Sets of words, written as one text."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
