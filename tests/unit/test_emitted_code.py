"""The code of a tuned program: compiled in every dialect, run by many threads, refined.

It runs without CUDA: `FAKE_CUDART` stands for the runtime. A launch there covers what it must, and
its time is a function of its block.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.device.profile import DeviceProfile, shipped_profiles
from cutune.emit.selection import emit_selection
from cutune.fit.fitted_model import FittedModel, Range
from cutune.fit.measurement.compiled_kernel import LeastWork
from cutune.fit.models_file import read_models
from cutune.models.selection.question import Chooser
from cutune.models.selection.variants import worthwhile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc, host_compiler

pytestmark = pytest.mark.nvcc  # for its headers alone

H200 = DeviceProfile.named("h200")
SMALLER = replace(H200, name="Smaller", sm_count=100, compute_capability=(8, 0))
MODELS = read_models(Path(__file__).parents[1] / "recorded" / "add_models.json")

SITES = """
static long long guard_x(const long long *cutune_argument) { return cutune_argument[0]; }
static long long guard_y(const long long *cutune_argument) { return cutune_argument[1]; }
static const cutune_site cutune_sites[] = {
    {1, "add", "add.cu", {cutune_guarded, cutune_guarded, cutune_fixed},
     {guard_x, guard_y, nullptr}, 3ull, 1024u, cutune_select_add, cutune_select_add_arguments,
     nullptr, false, true, 3u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0},
};
enum { cutune_remembers = 1 };
"""

FAKE_CUDART = """
static int fake_multiprocessors = 132, fake_major = 9;
static int fake_devices = 1, fake_device = 0;
static unsigned fake_fast = 16;  // width of the fastest block: the program's own
static bool fake_capturing = false, fake_refuses = false;
static thread_local cudaError_t fake_error = cudaSuccess;
static thread_local int fake_peeks = 0;
static thread_local float fake_time = 0;
static float fake_busy = 0;  // until then the device has done nothing
static std::atomic<int> fake_events(0);
extern "C" {
cudaError_t cudaGetDriverEntryPoint(const char *, void **function, unsigned long long,
                                    cudaDriverEntryPointQueryResult *) {
    *function = nullptr;
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *) {
    *function = nullptr;
    return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() { ++fake_peeks; return fake_error; }
cudaError_t cudaGetLastError() {
    const cudaError_t error = fake_error;
    fake_error = cudaSuccess;
    return error;
}
cudaError_t cudaGetDeviceCount(int *count) { *count = fake_devices; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = fake_device; return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device) {
    *value = what == cudaDevAttrMultiProcessorCount ? fake_multiprocessors >> device
             : what == cudaDevAttrComputeCapabilityMajor ? fake_major
                                                         : 0;
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, enum cudaStreamCaptureStatus *status) {
    *status = fake_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *, const void *) {
    return cudaErrorInvalidValue;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = reinterpret_cast<cudaEvent_t>(new float(0));
    ++fake_events;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    *reinterpret_cast<float *>(event) = fake_time;
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) {
    if (fake_time < fake_busy) fake_error = cudaErrorNotReady;
    return fake_time < fake_busy ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end) {
    *ms = *reinterpret_cast<float *>(end) - *reinterpret_cast<float *>(begin);
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete reinterpret_cast<float *>(event);
    --fake_events;
    return cudaSuccess;
}
}
// The launch of `add` at some size: what block it got, or 0 threads where not all is covered. It
// is made again if it is refused.
static dim3 launch(int n, int m, float *data) {
    const dim3 block(16, 16);
    const dim3 grid((static_cast<unsigned>(n) + 15) / 16, (static_cast<unsigned>(m) + 15) / 16);
    dim3 got(0, 0, 0);
    int launches = 0, refused = 0;
    const cudaStream_t stream = reinterpret_cast<cudaStream_t>(data);
    for (cutune_repeated cutune_1(1, cutune_members<>(), grid, block, 0, stream, n, m, data, data);
         cutune_1.next();) {
        ++launches;
        got = cutune_1.block;
        const bool is_covered =
            static_cast<long long>(cutune_1.grid.x) * got.x >= n &&
            static_cast<long long>(cutune_1.grid.y) * got.y >= m;
        if (!is_covered || cutune_1.grid.z != 1 || got.z != 1) got = dim3(0, 0, 0);
        if (fake_refuses && got.x != 16) {
            fake_error = cudaErrorLaunchOutOfResources;
            ++refused;
        }
        fake_time += got.x == fake_fast ? 1.0f : 2.0f;
    }
    return launches == 1 + refused ? got : dim3(0, 0, 0);
}
"""

THREADS = """
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static int wrong(unsigned start) {
    int count = 0;
    float data = 0;
    for (unsigned i = 0; i < 500; ++i) {
        const int n = 1 + static_cast<int>((start * 977 + i * 7919) % 5000);
        const dim3 first = launch(n, 100, &data), again = launch(n, 100, &data);
        if (first.x == 0 || again.x == 0) ++count;
    }
    return count;
}
static void *run(void *argument) {
    unsigned *number = static_cast<unsigned *>(argument);
    *number = static_cast<unsigned>(wrong(*number));
    return nullptr;
}
int main() {
    wrong(99);
    const pid_t child = fork();
    if (child == 0) _exit(wrong(3) == 0 ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    pthread_t threads[16];
    unsigned numbers[16];
    for (unsigned i = 0; i < 16; ++i) {
        numbers[i] = i % 5;
        pthread_create(&threads[i], nullptr, run, &numbers[i]);
    }
    for (unsigned i = 0; i < 16; ++i) {
        pthread_join(threads[i], nullptr);
        if (numbers[i] != 0) return 2;
    }
    return status != 0;
}
"""

ERRORS = """
#define EXPECT(what) if (!(what)) { printf("line %d: %s", __LINE__, #what); return 1; }
int main(int argc, char **) {
    const bool is_one_kernel = argc == 1;
    float data = 0;
    fake_devices = 2;
    fake_error = cudaErrorUnknown;
    EXPECT(launch(2048, 2048, &data).x == 16 && fake_error == cudaErrorUnknown);
    fake_error = cudaSuccess;
    const unsigned chosen = launch(2048, 2048, &data).x;
    EXPECT(chosen != 16);
    const int peeks = fake_peeks;
    EXPECT(launch(2048, 2048, &data).x == chosen);
    EXPECT(fake_peeks == peeks + (is_one_kernel ? 0 : 2));
    fake_error = cudaErrorUnknown;  // is the program's, whatever block is used
    EXPECT(launch(2048, 2048, &data).x == (is_one_kernel ? chosen : 16));
    EXPECT(fake_error == cudaErrorUnknown);
    fake_error = cudaSuccess;
    fake_device = 1;  // of half the size, for which there is no model
    EXPECT(launch(2048, 2048, &data).x == 16);
    fake_device = 0;
    fake_capturing = true;
    EXPECT(launch(2048, 1024, &data).x != 16);
    fake_capturing = false;
    fake_refuses = true;  // whether captured launches are accepted was not known
    EXPECT(launch(2048, 1024, &data).x == 16);
    EXPECT(fake_error == cudaSuccess);
    fake_refuses = false;  // the site is given up
    EXPECT(launch(2048, 2048, &data).x == 16);
    return 0;
}
"""

COUNTED = """
static int asked;
static cutune_configuration counted(const cutune_request *request, cutune_shortlist *list) {
    ++asked;
    return cutune_select_add(request, list);
}
"""

#: Launches of all sites take turns at a few sizes, and with a few blocks, the sites innermost.
IN_TURN = """
int main() {
    const int sizes[] = {SIZES};
    const unsigned widths[] = {8, 16, 32, 64};
    float data = 0;
    int last = 0;
    for (int round = 0; round < 300; ++round) {
        last = asked;
        for (int n : sizes)
            for (int site = 1; site <= cutune_site_count; ++site)
                for (cutune_repeated one(site, cutune_members<>(), dim3(1100, 1100), dim3(8, 8), 0,
                                         nullptr, n, n, &data, &data);
                     one.next();) {
                }
        for (unsigned width : widths)
            for (cutune_repeated one(1, cutune_members<>(), dim3(8192 / width, 1100),
                                     dim3(width, 8), 0, nullptr, 8000, 8000, &data, &data);
                 one.next();) {
            }
    }
    printf("%d %d", asked, asked - last);
    return 0;
}
"""

REFINED = """
int main(int argc, char **argv) {
    float data = 0;
    if (argc > 1) fake_multiprocessors = atoi(argv[1]);
    if (argc > 2) fake_major = atoi(argv[2]);
    if (argc > 3) fake_fast = static_cast<unsigned>(atoi(argv[3]));
    if (argc > 4) fake_busy = static_cast<float>(atoi(argv[4]));
    fake_capturing = argc > 5;
    float most = 0;  // time per launch of all launches up to some
    for (int i = 1; i <= 600; ++i) {
        const dim3 block = launch(2048, 2048, &data);
        printf("%ux%u ", block.x, block.y);
        if (fake_time / static_cast<float>(i) > most) most = fake_time / static_cast<float>(i);
    }
    printf("%d %.3f", fake_events.load(), static_cast<double>(most));
    return 0;
}
"""


#: The block of a launch at each of some sizes.
ASKED = """
int main(int argc, char **argv) {
    float data = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        const dim3 block = launch(atoi(argv[i]), atoi(argv[i + 1]), &data);
        printf("%ux%ux%u ", block.x, block.y, block.z);
    }
    return 0;
}
"""


def emitted(
    devices: tuple[DeviceProfile, ...] = (H200,), models: Sequence[FittedModel] = MODELS
) -> str:
    """The prelude of a tuned program."""

    def header(name: str) -> str:
        return (INCLUDE_DIRECTORY / f"cutune_{name}.h").read_text()

    before = (
        *map(header, ("launch", "signature", "range", "allocation", "tables")),
        *map(header, ("operators", "choice", "refine", "select")),
    )
    parts = (emit_selection(models, devices).text, SITES, header("tuned"), header("call"))
    return "".join([*before, *parts])


def build(text: str, folder: Path, *flags: str) -> Path:
    """Compile a program with the host compiler, which must have nothing to say."""
    source, binary = folder / "program.cpp", folder / "program"
    source.write_text(text)
    headers = [f"-isystem{path}" for path in find_nvcc().include_directories]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    command = [host_compiler(), *headers, *warnings, *flags, str(source), "-o", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return binary


@pytest.mark.parametrize("dialect", ["c++11", "c++14", "c++17", "c++20"])
def test_no_compiler_warns(dialect: str, tmp_path: Path) -> None:
    text = emitted((H200, SMALLER)) + FAKE_CUDART + REFINED
    assert not build(text, tmp_path, f"-std={dialect}", "-fsyntax-only").exists()


@pytest.mark.parametrize("is_one_kernel", [True, False])
def test_errors_are_asked_for_until_a_launch_is_accepted(
    is_one_kernel: bool, tmp_path: Path
) -> None:
    text = emitted() + FAKE_CUDART + ERRORS
    if not is_one_kernel:
        text = text.replace("nullptr, false, true,", "nullptr, false, false,")
    binary = build(text, tmp_path, "-std=c++11", "-O1")
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
    binary = build(text, tmp_path, "-std=c++11", "-O1", *unused)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    decided, lately = map(int, done.stdout.split())
    assert sizes * sites + 3 <= decided < 2 * (sizes * sites + 4)
    assert lately == 0


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_sixteen_threads_and_a_fork_are_clean(sanitizer: str, tmp_path: Path) -> None:
    text = emitted() + FAKE_CUDART + THREADS
    binary = build(text, tmp_path, "-std=c++11", "-O1", "-g", f"-fsanitize={sanitizer}", "-pthread")
    for mode in ("", "refine"):
        environment = {**os.environ, "CUTUNE": mode, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([str(binary)], env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_beyond_the_known_sizes_a_launch_stays_as_cutune_select_says(tmp_path: Path) -> None:
    (model,) = MODELS
    ranges = (Range(400, 500), Range(64, 700))
    narrow = replace(model, reached=ranges, is_exact=False, variants=())
    sizes = [(n, m) for n in (99, 100, 777, 2000, 2001, 1 << 20) for m in (15, 16, 640, 2800, 2801)]
    binary = build(emitted(models=[narrow]) + FAKE_CUDART + ASKED, tmp_path, "-std=c++11", "-O1")
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
    binary = build(text, tmp_path, "-std=c++11", "-O1")
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
    binary = build(emitted(models=[faulty]) + FAKE_CUDART + ASKED, tmp_path, "-std=c++11", "-O1")
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


def test_nothing_is_timed_while_a_stream_is_capturing(refined: Path) -> None:
    *found, events, _ = blocks(refined, "132", "9", "64", "0", "capturing", CUTUNE="refine")
    assert (set(found), events) == ({"16x16"}, "0")
