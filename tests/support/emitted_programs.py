"""Programs around the code of a tuned program, which run without CUDA.

`FAKE_CUDART` stands for the runtime. A launch there covers what it must, and its time is a function
of its block.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc, host_compiler

H200 = DeviceProfile.named("h200")
SMALLER = replace(H200, name="Smaller", sm_count=100, compute_capability=(8, 0))
MODELS = read_models(Path(__file__).parents[1] / "recorded" / "add_models.json")

SITES = """
static long long guard_x(const long long *cutune_argument) { return cutune_argument[0]; }
static long long guard_y(const long long *cutune_argument) { return cutune_argument[1]; }
static const cutune_site cutune_sites[] = {
    {1, "add", "add.cu", {cutune_guarded, cutune_guarded, cutune_fixed},
     {guard_x, guard_y, nullptr}, 3ull, 1024u, cutune_select_add, cutune_select_add_arguments,
     nullptr, false, 0u, true, 3u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0,
     false, 0, 0, nullptr},
};
enum { cutune_remembers = 1 };
"""

FAKE_CUDART = """
#include <stdint.h>
#include <stdio.h>

#include <atomic>

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
static cutune_chosen counted(const cutune_request *request, cutune_shortlist *list) {
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
        *map(header, ("operators", "host", "choice", "refine", "select")),
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


#: What nvcc gives the host compiler for a .cu file.
OF_CUDA = ("-D__CUDACC__", "-D__NVCC__", "-include", "cuda_runtime.h")


def included(text: str, dialect: str, folder: Path, options: Sequence[str] = OF_CUDA) -> set[str]:
    """Files that the host's part of a program includes; cutune's own are left out."""
    source = folder / "program.cpp"
    source.write_text(text)
    headers = [f"-isystem{path}" for path in find_nvcc().include_directories]
    own = [f"-I{INCLUDE_DIRECTORY}", *options, f"-std={dialect}"]
    command = [host_compiler(), "-E", "-M", *headers, *own, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {word for word in done.stdout.split()[1:] if word not in (str(source), "\\")}
    return {file for file in found if Path(file).parent != INCLUDE_DIRECTORY}
