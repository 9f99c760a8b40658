"""JSON as data: text that no system takes for a name is refused, wherever it stands."""

from __future__ import annotations

import json

import pytest

from cutune.core.typed import parsed


@pytest.mark.parametrize(
    "text", ["\x01", "a\udcffb", "\U0001d4b3", "\U00010d00", "\\u0000", "\\ud800", "\ue000", "é\n"]
)
def test_text_comes_back(text: str) -> None:
    for written in (json.dumps(text), json.dumps([{text: text}])):
        assert parsed(written) == parsed(written.encode()) == json.loads(written)


@pytest.mark.parametrize(
    "escape", ["\\u0000", "\\ud800", "\\uDBff", "\\udc7f", "\\udd00", "\\uDfff"]
)
def test_what_is_no_text_is_refused(escape: str) -> None:
    for written in (f'"{escape}"', f'{{"a": ["b\\\\{escape}c"]}}', f'"\\ud835\\udcb3{escape}"'):
        assert json.loads(written)
        with pytest.raises(ValueError, match="half of a character"):
            parsed(written)


def test_bytes_are_utf_8() -> None:
    assert parsed(b'\xef\xbb\xbf"\xc3\xa9"') == "é"
    with pytest.raises(ValueError, match="utf-8"):
        parsed(b'"\xed\xa0\x80"')
