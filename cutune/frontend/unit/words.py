"""Sets of words, written as one writes words."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
