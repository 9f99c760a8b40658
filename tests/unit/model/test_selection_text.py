"""Routines that decide: their names, the sites and devices that they serve."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cutune.model.emit.emitter import SMALL, Emitter, Tables, double_text
from cutune.model.emit.routine import _uncovered, emit_rule, printed_extents
from cutune.model.emit.selected_programs import SelectionText
from cutune.model.emit.selection import Decided, Decider, decided_apart, emit_selection
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.performance.constants import ASKING_US, OWN_BAND_DATA_SMALLER, VARIANT_SHARE
from cutune.model.selection.chooser import DEFAULT
from cutune.model.selection.chooser import MODELS as JUDGES
from cutune.model.selection.variants import (
    NEVER_SURE_US,
    VariantChooser,
    share_of,
    sure_from,
    worthwhile,
)
from cutune.source.program import SiteKey
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block
from tests.support.emitted_programs import MODELS, SMALLER

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
    def text(device: DeviceProfile, name: str) -> str | None:
        return None if device == unless else f"<{name} on {device.name}>"

    def decide(devices: Sequence[DeviceProfile], name: str) -> Decided:
        return replace(decided_apart(text)(devices, name), variants=frozenset(variants))

    site_key = SiteKey("a.cu", site)
    return Decider(kernel, (site_key,), positions, decide, signatures, suffixes)


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
    head = "(\n    const cutune_request *asked_, cutune_shortlist *list_)\n{"
    assert f"static inline cutune_chosen cutune_select_instance_0{head}" in found.text
    read = "cutune_select_k_arguments | cutune_select_k_2_arguments"
    assert f"cutune_select_instance_0_arguments = {read} }}" in found.text


def test_sites_of_the_same_instances_share_a_routine() -> None:
    def at(site: int) -> list[Decider]:
        return [decider("k", site, signatures=(5,)), decider("l", site, signatures=(7,))]

    assert routines([*at(1), *at(2)]) == [f"cutune_select_instance_{n}" for n in (0, 1)]
    one = decider("k", signatures=(5,))
    both = [
        Decider(d.kernel, (*d.sites, SiteKey("a.cu", 2)), d.positions, d.decide, d.signatures)
        for d in (one, decider("l"))
    ]
    assert routines(both) == ["cutune_select_instance_0"] * 2
    assert "if (true) return cutune_select_l(asked_, list_);" in emitted(both).text


# Variants: those that may run are asked first.


def varied(variant: str, coarsen: Block) -> tuple[FittedModel, FittedModel]:
    """A model, and that of a variant which takes a quarter of the time."""
    (alone,) = MODELS
    columns = tuple(replace(c, values=tuple(v / 4 for v in c.values)) for c in alone.columns)
    facts = replace(alone.kernel, variant=variant, coarsen=coarsen, asked_pointers=2)
    return replace(alone, variants=()), replace(alone, kernel=facts, columns=columns)


@pytest.mark.parametrize(
    ("cover", "asked"),
    [
        ("(({name} + 15) / 16) * 16", "asked_->extent[0] != ((sizes_[0] + 15) / 16) * 16"),
        ("{name} * {other}", ""),
        ("64 / {name}", ""),
        ("16 % ({name} + 1)", ""),
        ("gone", ""),
        ("64", ""),
    ],
)
def test_a_grid_is_asked_whether_it_covers_its_size(cover: str, asked: str) -> None:
    (alone,) = MODELS
    name, other, *_ = alone.kernel.parameters
    text = cover.format(name=name, other=other)
    facts = replace(alone.kernel, asserted=True, covers=(text, None, None))
    assert " ".join(_uncovered(facts)) == asked
    assert [*_uncovered(replace(facts, asserted=False))] == []


def written(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("devices", [(H200,), (H200, SMALLER)])
def test_variants_that_may_run_are_asked_before_the_kernel(
    devices: tuple[DeviceProfile, ...],
) -> None:
    alone, variant = varied("restrict", (1, 1, 1))
    model = replace(alone, variants=(variant,))
    assert all(worthwhile(model, device) for device in devices)
    found = emit_selection([model], devices)
    text = written(found.text)
    more = ", device_" if len(devices) > 1 else ""
    assert dict(found.variants) == {"add": {"restrict"}}
    asked = f"cutune_prefer(&best_, cutune_decide_add_restrict(asked_, nullptr{more}), v_,"
    plain = f"cutune_decide_add_plain(asked_, list_{more});"
    assert 'if (const int v_ = cutune_allowed(*asked_, "restrict"))' in text
    assert text.index(asked) < text.index(plain)
    assert f"return cutune_decide_add(asked_, list_{more});" in text
    # Asking the driver about pointers takes time; each device has its own certainty.
    sure = "sure_[0]" if more else double_text(worthwhile(model, H200)[0].sure_us)
    assert f"v_, {double_text(2 * ASKING_US)}, {sure}, &is_sure_);" in text
    assert ("sure_of_add" in text) is bool(more)


def test_a_variant_whose_threads_do_several_ids_is_asked_about_fewer_threads() -> None:
    alone, variant = varied("x2", (2, 1, 1))
    text = written(emit_selection([replace(alone, variants=(variant,))], [H200]).text)
    assert "shared_.extent[0] = (shared_.extent[0] + 1) / 2;" in text
    assert "shared_.extent[1]" not in text
    assert "cutune_decide_add_x2(&shared_, nullptr), v_," in text


def test_a_variant_that_is_counted_on_data_has_to_promise_more() -> None:
    alone, variant = varied("restrict", (1, 1, 1))
    on_data = replace(alone, kernel=replace(alone.kernel, on_data=True), variants=(variant,))
    model = replace(alone, variants=(variant,))
    assert share_of(model, H200) == VARIANT_SHARE
    assert share_of(on_data, H200) == VARIANT_SHARE / OWN_BAND_DATA_SMALLER
    # Sizes of samples need not belong together as those of the runs did.
    sure = [sure_from(one, "restrict", []) for one in (model, on_data)]
    assert sure == [0, NEVER_SURE_US]


@pytest.mark.parametrize(("ids", "multiple"), [(4, 1), (2, 2)])
def test_a_variant_of_whole_vectors_or_tiles_is_not_chosen_for_other_sizes(
    ids: int, multiple: int
) -> None:
    alone, variant = varied("vec4", (ids, 1, 1))
    name, *others = variant.kernel.parameters
    told = replace(variant.kernel, divided=(name,), multiple=multiple)
    whole = replace(variant, kernel=told)
    chooser = VariantChooser(replace(alone, variants=(whole,)), H200)
    sizes = dict.fromkeys(others, 2048)
    chosen = {n: chooser.choose({name: n, **sizes}).variant for n in (4096, 4100, 4097)}
    assert chosen == {4096: "vec4", 4100: "vec4", 4097: ""}


def test_devices_on_which_no_variant_is_worthwhile_decide_among_blocks_alone() -> None:
    alone, variant = varied("restrict", (1, 1, 1))
    slower = replace(variant, columns=alone.columns)
    found = emit_selection([replace(alone, variants=(slower,))], [H200, SMALLER])
    assert dict(found.variants) == {"add": set()}
    assert "cutune_prefer(" not in found.text


def test_devices_with_other_candidates_have_routines_of_their_own() -> None:
    alone, variant = varied("restrict", (1, 1, 1))
    small = replace(SMALLER, limits=replace(SMALLER.limits, threads_per_block=256))
    devices = (H200, small, SMALLER)
    text = emit_selection([replace(alone, variants=(variant,))], devices).text
    defined = re.findall(r"^static inline \w+ cutune_decide_(\w+)\(", text, re.MULTILINE)
    both = ["add_plain", "add_plain_on_1", "add_restrict", "add_restrict_on_1"]
    assert sorted(defined) == ["add", "add_on_1", *both]
    ((_, one),) = re.findall(r"(case 1): return (.*);", text)
    assert one == "cutune_decide_add_on_1(asked_, list_, device_)"
    assert "case 0: case 2: return cutune_decide_add(asked_, list_, device_);" in text
    own = written(text[text.index("cutune_decide_add_on_1(") :])
    assert own.index("cutune_decide_add_restrict_on_1(") < own.index(
        "cutune_decide_add_plain_on_1("
    )


@pytest.mark.parametrize(
    ("rank", "bound_rank", "c_type"),
    [
        (SMALL - 1, SMALL - 1, "char"),
        (SMALL, SMALL - 1, "unsigned short"),
        (SMALL - 1, SMALL, "unsigned short"),
    ],
)
def test_many_candidates_have_longer_numbers(rank: int, bound_rank: int, c_type: str) -> None:
    (model,) = MODELS
    rule = JUDGES[DEFAULT].rule(model, H200)
    others = (0,) * (len(rule.ranks) - 1)
    rule = replace(rule, ranks=(rank, *others), bound_ranks=(bound_rank, *others))
    emit = Emitter()
    emit_rule(emit, rule, ['"add"', '"threads"', "3u", "0u"], Tables())
    assert f"static const cutune_candidates<{c_type}> cutune_all = {{" in str(emit)


def test_it_is_said_what_extents_count() -> None:
    assert printed_extents((False, False, False)) == '"threads"'
    assert printed_extents((False, True, False)) == '"blocks or threads"'
