"""The code of a tuned program: compiled in every dialect, run by many threads, refined."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.cli.options import MODEL_NAMES
from cutune.model.emit.emitter import c_text, c_variable
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import SizeRange
from cutune.model.measurement.measurement import LeastWork
from cutune.model.rational.program import Lookup, Reference
from cutune.model.selection.chooser import DEFAULT, Chooser, supported
from cutune.model.selection.variants import worthwhile
from cutune.toolchain.device.profile import DeviceProfile, shipped_profiles
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from tests.support.emitted_programs import (
    ASKED,
    COUNTED,
    ERRORS,
    FAKE_CUDART,
    H200,
    IN_TURN,
    MODELS,
    REFINED,
    SITES,
    SMALLER,
    THREADS,
    build,
    emitted,
    included,
)

pytestmark = pytest.mark.nvcc  # for its headers alone


@pytest.mark.parametrize("dialect", ["c++11", "c++14", "c++17", "c++20"])
def test_no_compiler_warns(dialect: str, tmp_path: Path) -> None:
    text = emitted((H200, SMALLER)) + FAKE_CUDART + REFINED
    assert not build(text, tmp_path, f"-std={dialect}", "-fsyntax-only").exists()


@pytest.mark.parametrize("devices", [(H200,), (H200, SMALLER)])
@pytest.mark.parametrize("coarsen", [(1, 1, 1), (2, 1, 1)])
def test_nor_where_a_kernel_has_variants(
    coarsen: Block, devices: tuple[DeviceProfile, ...], tmp_path: Path
) -> None:
    (alone,) = MODELS
    columns = [replace(one, values=tuple(v / 4 for v in one.values)) for one in alone.columns]
    facts = replace(alone.kernel, variant="restrict", coarsen=coarsen)
    variant = replace(alone, kernel=facts, columns=tuple(columns), variants=())
    text = emitted(devices, [replace(alone, variants=(variant,))])
    assert "cutune_prefer(&best_" in text
    binary = build(text + FAKE_CUDART + REFINED, tmp_path, "-std=c++11", "-fsyntax-only")
    assert not binary.exists()


def test_an_index_of_a_table_may_come_from_another_one() -> None:
    node = Lookup("a", Lookup("b", Reference("n")))
    assert c_text(node, str.upper) == f"cutune_at(A, cutune_at(B, {c_variable('n')}))"


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_each_model_decides_on_several_devices(model: str) -> None:
    """The published ones know no variants."""
    (alone,) = MODELS
    columns = tuple(replace(one, values=tuple(v / 4 for v in one.values)) for one in alone.columns)
    facts = replace(alone.kernel, variant="restrict")
    variant = replace(alone, kernel=facts, columns=columns, variants=())
    models = [replace(alone, variants=(variant,))]
    text = emit_selection(models, (H200, SMALLER), model).text
    assert "cutune_decide_add" in text
    assert ("cutune_prefer(" in text) is (model == DEFAULT)


def test_of_threads_that_no_size_bounds_only_so_many_are_known() -> None:
    (model,) = MODELS
    facts = replace(model.kernel, guards=(None, None, None), variable_extents=(False, True, False))
    ranges = (*(SizeRange(1, 1 << 40) for _ in facts.parameters), SizeRange(400, 500))
    narrow = replace(model, kernel=facts, reached=ranges, is_exact=False, variants=())
    assert supported(narrow)["extent_y"] == SizeRange(100, 2000)
    text = emit_selection([narrow], (H200,)).text
    assert "asked_->extent[1] < 100 || asked_->extent[1] > 2000" in " ".join(text.split())


@pytest.mark.parametrize("is_one_kernel", [True, False])
def test_errors_are_asked_for_until_a_launch_is_accepted(
    is_one_kernel: bool, tmp_path: Path
) -> None:
    text = emitted() + FAKE_CUDART + ERRORS
    if not is_one_kernel:
        text = text.replace("nullptr, false, 0u, true,", "nullptr, false, 0u, false,")
    binary = build(text, tmp_path, "-std=c++11")
    words = [str(binary), *([] if is_one_kernel else ["several"])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(("sites", "sizes"), [(1, 3), (2, 3), (5, 3), (33, 1), (60, 1)])
def test_launches_that_take_turns_are_decided_once(sites: int, sizes: int, tmp_path: Path) -> None:
    row = SITES[SITES.index("    {1,") : SITES.index("};")]
    rows = "".join(row.replace("{1,", f"{{{number + 1},") for number in range(sites))
    counting = SITES.replace(row, rows.replace("cutune_select_add,", "counted,"))
    program = IN_TURN.replace("SIZES", ", ".join(["128", "8192", "1000"][:sizes]))
    text = emitted().replace(SITES, COUNTED + counting) + FAKE_CUDART + program
    unused = ("-Wno-unused-function", "-Wno-unused-variable")
    binary = build(text, tmp_path, "-std=c++11", *unused)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    decided, lately = map(int, done.stdout.split())
    assert sizes * sites + 3 <= decided < 2 * (sizes * sites + 4)
    assert lately == 0


@pytest.mark.long
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_sixteen_threads_and_a_fork_are_clean(sanitizer: str, tmp_path: Path) -> None:
    text = emitted() + FAKE_CUDART + THREADS
    binary = build(text, tmp_path, "-std=c++11", "-O1", "-g", f"-fsanitize={sanitizer}", "-pthread")
    for mode in ("", "refine"):
        environment = {**os.environ, "CUTUNE": mode, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([str(binary)], env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture(scope="module")
def mode_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that ends with the mode that it has read twice."""
    asked = """int main() {
        const int mode = cutune_read_mode();
        return cutune_read_mode() == mode ? mode & 7 : 8;
    }
    """
    unused = ("-Wno-unused-function", "-Wno-unused-variable")
    folder = tmp_path_factory.mktemp("mode")
    return build(emitted() + FAKE_CUDART + asked, folder, "-std=c++11", *unused)


def read_mode(program: Path, mode: str) -> tuple[int, str]:
    environment = {**os.environ, "CUTUNE": mode}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("mode", "lines"),
    [("offf", 1), ("verbos", 1), ("off,verbos", 1), ("on", 0), ("refine,off", 0), ("", 0)],
)
def test_a_word_that_cutune_does_not_know_is_told_once(
    mode: str, lines: int, mode_reader: Path
) -> None:
    said = lines * f"cutune: CUTUNE={mode}; known: off, verbose, refine\n"
    assert read_mode(mode_reader, mode)[1] == said


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        *(("off", 1), ("verbose,off", 3), ("refine, off", 5), (",,off,", 1), ("off,verbos", 1)),
        *(("offf", 0), ("xoff", 0), ("of", 0), ("on", 0), ("verbosely", 0), ("", 0)),
    ],
)
def test_words_count_as_a_whole(mode: str, expected: int, mode_reader: Path) -> None:
    """What is mistyped switches nothing off."""
    assert read_mode(mode_reader, mode)[0] == expected


def test_beyond_the_known_sizes_a_launch_stays_as_cutune_select_says(tmp_path: Path) -> None:
    (model,) = MODELS
    ranges = (SizeRange(400, 500), SizeRange(64, 700))
    narrow = replace(model, reached=ranges, is_exact=False, variants=())
    sizes = [(n, m) for n in (99, 100, 777, 2000, 2001, 1 << 20) for m in (15, 16, 640, 2800, 2801)]
    binary = build(emitted(models=[narrow]) + FAKE_CUDART + ASKED, tmp_path, "-std=c++11")
    words = [str(size) for pair in sizes for size in pair]
    done = subprocess.run([str(binary), *words], capture_output=True, text=True, check=True)
    chooser = Chooser(narrow, H200)
    choices = [chooser.choose({"n": n, "m": m}) for n, m in sizes]
    assert done.stdout.split() == ["x".join(map(str, one.block)) for one in choices]
    known = [pair for pair, one in zip(sizes, choices, strict=True) if not one.extrapolated]
    assert known == [(n, m) for n, m in sizes if 100 <= n <= 2000 and 16 <= m <= 2800]
    assert any(one.block != model.kernel.original for one in choices)


def test_on_each_of_several_devices_the_choice_is_that_of_its_own_model(tmp_path: Path) -> None:
    (model,) = MODELS
    model = replace(model, variants=())
    # The driver here knows no minor version.
    devices = [one for one in shipped_profiles() if one.compute_capability[1] == 0]
    first = "fake_multiprocessors = atoi(*++argv); fake_major = atoi(*++argv); argc -= 2;"
    program = ASKED.replace("    float data", f"    {first}\n    float data")
    text = emitted(devices=tuple(devices), models=[model]) + FAKE_CUDART + program
    assert text.count("cutune_model_add_plain(") == 2  # where it stands, and one call
    binary = build(text, tmp_path, "-std=c++11")
    sizes = [(n, m) for n in (100, 777, 2000) for m in (16, 640, 2800)]
    words = [str(size) for pair in sizes for size in pair]
    found = {}
    for device in devices:
        facts = map(str, (device.sm_count, device.compute_capability[0]))
        command = [str(binary), *facts, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        chooser = Chooser(model, device)
        blocks = [chooser.choose({"n": n, "m": m}).block for n, m in sizes]
        assert done.stdout.split() == ["x".join(map(str, block)) for block in blocks]
        found[device.name] = tuple(blocks)
    assert len(set(found.values())) > 1


@pytest.mark.parametrize("devices", [(H200,), (H200, SMALLER)])
@pytest.mark.parametrize("is_last", [False, True])
def test_kernels_that_are_called_like_parts_of_others(
    is_last: bool, devices: tuple[DeviceProfile, ...]
) -> None:
    (alone,) = MODELS
    columns = [replace(one, values=tuple(v / 4 for v in one.values)) for one in alone.columns]
    facts = replace(alone.kernel, variant="restrict")
    variant = replace(alone, kernel=facts, columns=tuple(columns))
    model = replace(alone, variants=(variant,))
    assert worthwhile(model, H200)
    names = [f"add_{part}" for part in ("plain", "restrict", "on_1", "plain_on_1")]
    others = [replace(alone, kernel=replace(alone.kernel, name=name)) for name in names]
    models = [*others, model] if is_last else [model, *others]
    text = emit_selection(models, devices).text
    defined = re.findall(r"^static inline \w+ (cutune_\w+)\(", text, re.MULTILINE)
    assert len(defined) == len(set(defined)) >= 3 * len(models)


def test_counts_below_the_least_choose_nothing(tmp_path: Path) -> None:
    (model,) = MODELS
    compiled = replace(model.kernel.compiled, least=LeastWork(of_working=1 << 40))
    faulty = replace(model, kernel=replace(model.kernel, compiled=compiled), variants=())
    binary = build(emitted(models=[faulty]) + FAKE_CUDART + ASKED, tmp_path, "-std=c++11")
    done = subprocess.run([str(binary), "777", "640"], capture_output=True, text=True, check=True)
    own = Chooser(faulty, H200).choose({"n": 777, "m": 640})
    assert own.is_impossible
    assert done.stdout.split() == ["x".join(map(str, own.block))]
    assert Chooser(model, H200).choose({"n": 777, "m": 640}).block != own.block


@pytest.fixture(scope="module")
def refined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program for two devices that launches 600 times at one size."""
    text = emitted((H200, SMALLER)) + FAKE_CUDART + REFINED
    return build(text, tmp_path_factory.mktemp("refined"), "-std=c++11", "-O1", "-lpthread")


def blocks(binary: Path, *arguments: str, **variables: str) -> list[str]:
    """The blocks of its launches; at the end, how many events were left, the most time taken."""
    environment = {**os.environ, "CUTUNE_REFINE_FILE": "/", **variables}
    done = subprocess.run(
        [str(binary), *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_routine_of_the_present_device_decides(refined: Path) -> None:
    first = blocks(refined, "132", "9")
    assert len(set(first[:600])) == 1
    assert first[0] != "16x16"
    assert blocks(refined, "100", "8")[0] != "16x16"
    assert set(blocks(refined, "100", "9")[:600]) == {"16x16"}  # no profile fits
    assert set(blocks(refined, "132", "9", CUTUNE="off")[:600]) == {"16x16"}


def test_tables_are_shared_by_devices() -> None:
    one, two = emitted((H200,)), emitted((H200, SMALLER))
    assert one.count(" load_0_{") == two.count(" load_0_{") == 1
    assert "load_0_2_" not in two


def test_the_own_block_stays_where_refinement_finds_no_faster_one(refined: Path) -> None:
    *found, events, most = blocks(refined, CUTUNE="refine")
    assert events == "0"  # all are given back
    tried = [(i, block) for i, block in enumerate(found, 1) if block != "16x16"]
    # Twice as long, so that once each is enough; in launches that are far apart.
    assert [i for i, _ in tried] == [50, 100, 150]
    assert tried[0][1] == blocks(refined, CUTUNE="")[0]
    assert len({block for _, block in tried}) == 3
    assert float(most) <= 1.03


def test_refinement_finds_the_fastest_in_the_launches_there_are(refined: Path) -> None:
    chosen = blocks(refined, CUTUNE="")[0]
    arguments = ("132", "9", chosen.partition("x")[0])
    *found, events, most = blocks(refined, *arguments, CUTUNE="refine")
    assert events == "0"
    assert float(most) <= 2.0  # what the program's own block takes
    assert [i for i, block in enumerate(found[:150], 1) if block == chosen] == [50, 100, 150]
    assert set(found[200:]) >= {chosen}
    assert set(found[400:]) == {chosen}


def test_refinement_does_not_wait_for_a_busy_device(refined: Path) -> None:
    *found, events, most = blocks(refined, "132", "9", "16", "400", CUTUNE="refine")
    tried = [i for i, block in enumerate(found, 1) if block != "16x16"]
    assert tried == [50, 100, 150, 400, 450]  # the first one until something is known of it
    assert (events, float(most) <= 1.03) == ("0", True)


def test_what_was_found_is_kept_in_a_file(refined: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "refined")
    blocks(refined, CUTUNE="refine", CUTUNE_REFINE_FILE=file)
    lines = Path(file).read_text().splitlines()
    assert [line.split()[0::2] for line in lines] == [["cutune-refine-1", "16", "1"]]
    with Path(file).open("a") as torn:
        torn.write("cutune-refine-1 12")
    again = blocks(refined, CUTUNE="refine", CUTUNE_REFINE_FILE=file)
    assert set(again[:600]) == {"16x16"}
    assert Path(file).read_text().count("\n") == 1


@pytest.mark.parametrize("file", ["/", "/nowhere/refined"])
def test_a_file_that_cannot_be_written_is_told_of_once(refined: Path, file: str) -> None:
    environment = {**os.environ, "CUTUNE": "refine", "CUTUNE_REFINE_FILE": file}
    done = subprocess.run(
        [str(refined)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == f"cutune: cannot write to CUTUNE_REFINE_FILE={file}\n"


def test_nothing_is_timed_while_a_stream_is_capturing(refined: Path) -> None:
    *found, events, _ = blocks(refined, "132", "9", "64", "0", "capturing", CUTUNE="refine")
    assert (set(found), events) == ({"16x16"}, "0")


@pytest.mark.parametrize("dialect", ["c++11", "c++14", "c++17", "c++20"])
def test_nothing_is_included_beside_what_nvcc_includes(dialect: str, tmp_path: Path) -> None:
    own = included("", dialect, tmp_path)
    assert own and included(emitted(), dialect, tmp_path) == own
    every = "".join(f'#include "{path.name}"\n' for path in INCLUDE_DIRECTORY.glob("*.h"))
    assert "cutune_probe.h" in every and included(every, dialect, tmp_path) == own


@pytest.mark.parametrize("dialect", ["c++11", "c++20"])
def test_what_host_tunables_include_in_a_source_without_kernels(
    dialect: str, tmp_path: Path
) -> None:
    """nvcc includes nothing there."""
    names = ("cuda_runtime.h", "type_traits", "initializer_list")
    few = "".join(f"#include <{name}>\n" for name in names)
    found = included('#include "cutune_tunables.h"', dialect, tmp_path, ())
    assert found == included(few, dialect, tmp_path, ())
    assert not {"stdlib.h", "string.h", "time.h"} & {Path(file).name for file in found}
