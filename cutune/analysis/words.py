"""Sets of words, written as one writes words."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
