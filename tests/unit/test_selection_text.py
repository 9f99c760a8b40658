"""Routines that decide: their names, the sites and devices that they serve."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from cutune.device.profile import DeviceProfile
from cutune.emit.selection import Decider, DecisionText, SelectionText, emit_selection
from cutune.frontend.launch_sites import SiteKey

H200, A100, T4 = (DeviceProfile.named(name) for name in ("h200", "a100", "t4"))


def decider(
    kernel: str,
    site: int = 1,
    *,
    suffixes: tuple[str, ...] = (),
    signatures: tuple[int, ...] = (),
    positions: tuple[int, ...] = (0, 3),
    unless: DeviceProfile | None = None,
    variants: tuple[str, ...] = (),
) -> Decider:
    def decision(device: DeviceProfile, name: str) -> DecisionText | None:
        text = f"<{name} on {device.name}>"
        return None if device == unless else DecisionText(text, variants)

    site_key = SiteKey("a.cu", site)
    return Decider(kernel, (site_key,), positions, decision, signatures, None, suffixes)


def emitted(deciders: Sequence[Decider], *devices: DeviceProfile) -> SelectionText:
    return emit_selection([], devices or (H200,), measured=deciders)


def routines(deciders: Sequence[Decider], *devices: DeviceProfile) -> list[str]:
    names = dict(emitted(deciders, *devices).routines)
    return [names[SiteKey("a.cu", number)] for number in range(1, len(names) + 1)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (decider("k"), decider("l", 2), ["k", "l"]),
        (decider("k"), decider("k", 2), ["k", "k_2"]),
        (decider("a::k"), decider("b::k", 2), ["a__k", "b__k"]),
        # What decides for parts of one kernel is not what decides for another.
        (decider("k", suffixes=("_plain",)), decider("k_plain", 2), ["k", "k_plain_2"]),
        (decider("k_plain"), decider("k", 2, suffixes=("_plain",)), ["k_plain", "k_2"]),
        (decider("k"), decider("k_plain", 2), ["k", "k_plain"]),
    ],
)
def test_each_routine_has_a_name_of_its_own(
    first: Decider, second: Decider, expected: list[str]
) -> None:
    assert routines([first, second]) == [f"cutune_select_{name}" for name in expected]


@pytest.mark.parametrize(
    ("second", "expected"),
    [("k_on_0", "k_on_0_2"), ("k_on_1", "k_on_1_2"), ("k_on_2", "k_on_2"),
     ("k_x2_on_1", "k_x2_on_1_2"), ("k_x2_on_2", "k_x2_on_2")],
)  # fmt: skip
def test_so_has_that_of_each_device(second: str, expected: str) -> None:
    found = routines([decider("k", suffixes=("_x2",)), decider(second, 2)], H200, A100)
    assert found == ["cutune_select_k", f"cutune_select_{expected}"]


def test_three_of_one_name() -> None:
    names = [f"cutune_select_k{end}" for end in ("", "_2", "_3")]
    assert routines([decider("k", number) for number in (1, 2, 3)]) == names


def test_it_says_which_arguments_are_read() -> None:
    text = emitted([decider("k", positions=(0, 3))]).text
    (bits,) = re.findall(r"cutune_select_k_arguments = (\w+?)(?:ull)? ", text)
    assert int(bits, 0) == 0b1001


def test_on_another_device_the_block_stays() -> None:
    text = emitted([decider("k")]).text
    major, minor = H200.compute_capability
    assert f"if (cutune_is_current({H200.sm_count}, {major}, {minor}))" in text
    assert "return cutune_decide_k(asked_, list_);" in text
    assert "return cutune_only_block(asked_->block);" in text
    assert f"<k on {H200.name}>" in text
    assert "cutune_device_number" not in text
    assert text.startswith(f"// Emitted by cutune for {H200.name}.\n")


def test_several_devices_are_numbered() -> None:
    text = emitted([decider("k", unless=A100)], H200, A100, T4).text
    facts = [
        f"{{{d.sm_count}, {d.compute_capability[0]}, {d.compute_capability[1]}}}"
        for d in (H200, A100, T4)
    ]
    assert f"known_[][3] = {{{', '.join(facts)}}};" in text
    assert "while (number_ < 3 &&" in text
    cases = dict(re.findall(r"case (\d): return (\w+)\(asked_, list_\);", text))
    assert cases == {"0": "cutune_decide_k_on_0", "2": "cutune_decide_k_on_2"}
    assert "<k_on_0 on " in text and "<k_on_1 on " not in text
    assert text.startswith(f"// Emitted by cutune for {H200.name} and {A100.name} and {T4.name}.\n")


def test_where_no_device_decides_there_is_no_routine() -> None:
    found = emitted([decider("k", unless=H200)])
    assert found.routines == ()
    assert "cutune_select_k" not in found.text
    assert dict(found.variants) == {}


def test_variants_that_may_be_chosen() -> None:
    both = [decider("k", variants=("restrict",)), decider("k", 2, variants=("x2", "restrict"))]
    assert dict(emitted(both).variants) == {"k": {"restrict", "x2"}}


def test_instances_of_a_template_are_told_apart_at_their_site() -> None:
    own = [
        decider("k", signatures=(5, 7), positions=(0,)),
        decider("k", signatures=(9,), positions=(2,)),
    ]
    found = emitted([*own, decider("l", 2)])
    assert dict(found.routines) == {
        SiteKey("a.cu", 1): "cutune_select_instance_0",
        SiteKey("a.cu", 2): "cutune_select_l",
    }
    one, other = (
        "asked_->signature == 5ull || asked_->signature == 7ull",
        "asked_->signature == 9ull",
    )
    assert f"if ({one}) return cutune_select_k(asked_, list_);" in found.text
    assert f"if ({other}) return cutune_select_k_2(asked_, list_);" in found.text
    read = "cutune_select_k_arguments | cutune_select_k_2_arguments"
    assert f"cutune_select_instance_0_arguments = {read} }}" in found.text


def test_sites_of_the_same_instances_share_a_routine() -> None:
    def at(site: int) -> list[Decider]:
        return [decider("k", site, signatures=(5,)), decider("l", site, signatures=(7,))]

    assert routines([*at(1), *at(2)]) == [f"cutune_select_instance_{n}" for n in (0, 1)]
    one = decider("k", signatures=(5,))
    both = [
        Decider(d.kernel, (*d.sites, SiteKey("a.cu", 2)), d.positions, d.decision, d.signatures)
        for d in (one, decider("l"))
    ]
    assert routines(both) == ["cutune_select_instance_0"] * 2
    assert "if (true) return cutune_select_l(asked_, list_);" in emitted(both).text
