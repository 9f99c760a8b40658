"""The one table of messages: number, severity, template; docs/diagnostics.md has their meanings."""

from __future__ import annotations

import os
from enum import Enum
from functools import cache

ERROR, WARNING, NOTE = "error", "warning", "note"
#: A link leads from the package to docs/; a wheel holds the files.
_PAGE = os.path.join(os.path.dirname(__file__), os.pardir, "docs", "diagnostics.md")


class Code(Enum):
    """Every message as `NUMBER SEVERITY: TEMPLATE`."""

    BUSY_WORKSPACE = (
        "CT019 warning: another cutune is at work on '{name}' in '{folder}'; waiting until it has "
        "ended"
    )
    NO_TEMPORARY_FOLDER = (
        "CT020 error: no folder for temporary files can be made ({reason}); set TMPDIR to one that "
        "is writable"
    )
    CACHE_ELSEWHERE = (
        "CT021 warning: the cache '{path}' cannot be used ({reason}): it is '{other}' now; set "
        "XDG_CACHE_HOME"
    )
    NOTHING_CHANGED = (
        "CT022 note: nothing has changed since this was last asked: the answer is the same "
        "(--again: anew)"
    )
    WRONG_USAGE = "CT023 error: {reason}; see: {help}"
    UNKNOWN_VERB = "CT024 error: no verb is named '{name}'; known: {known}"
    UNKNOWN_OPTION = "CT025 error: '{prog}' has no option '{name}'{further}"
    UNKNOWN_VALUE = "CT026 error: '{name}' is no value of {option}; known: {known}"
    UNKNOWN_TOPIC = "CT027 error: there is no help on '{name}'{further}"
    NO_SOURCE_THERE = "CT028 error: '{path}' names no CUDA source"
    REQUIRED_NOT_TUNABLE = (
        "CT029 error: the launch of kernel '{kernel}', which --require '{pattern}' names, cannot "
        "be tuned: {reason}"
    )
    NOTHING_REQUIRED = "CT030 error: no launch is of a kernel '{name}'; known: {known}"
    UNREADABLE_FILE = "CT001 error: cannot read '{path}': {reason}"
    UNWRITABLE_FILE = "CT002 error: cannot write '{path}': {reason}"
    MISSING_NVCC = (
        "CT003 error: nvcc not found; give --nvcc PATH, set CUDACXX, or run: pip install "
        "'cutune[toolkit]'"
    )
    UNKNOWN_DEVICE = "CT004 error: unknown device '{name}'; known: {known}"
    UNKNOWN_SCHEMA = "CT005 error: '{path}' is not a {wanted} file: its first entry says '{found}'"
    TORN_LINE = (
        "CT006 warning: skipped line {line} of '{path}', which is torn or was written by another "
        "version"
    )
    MISSING_COMPILER = "CT007 error: no C++ compiler found; install g++ or set CXX"
    OUTPUT_IS_INPUT = "CT010 error: the output would replace the source '{path}'; name another file"
    NEEDS_FOLDER = (
        "CT013 error: header '{header}' has to be rewritten too, so the output is a folder; write: "
        "-o {folder}"
    )
    ALREADY_TUNED = (
        "CT011 error: '{path}' was written by cutune; tune the program that it was made from"
    )
    DAMAGED_FILE = (
        "CT012 error: '{path}' is damaged or was written by another version ({reason}); run again: "
        "{command}"
    )
    NO_PYCUDA = (
        "CT014 error: a real GPU is used through pycuda, which cannot be imported ({reason}); run: "
        "pip install 'cutune[gpu]'"
    )
    NO_GPU = "CT015 error: no GPU can be used here: {reason}"
    GPU_FAILED = "CT016 error: the GPU or its compiler refused a kernel: {reason}"
    NO_REPORT_EXTRA = (
        "CT017 error: the report is made with {module}, which cannot be imported ({reason}); run: "
        "pip install 'cutune[report]'"
    )
    BAD_SIZE = "CT008 error: '{text}' is not {wanted}; write it as {example}"
    MISSING_STAGE = "CT009 error: '{path}' is missing; run first: {command}"

    UNBALANCED = "CT101 error: unbalanced '{bracket}'"
    NOT_CUDA = "CT102 error: no C++ code found; is '{path}' a CUDA source file?"
    BAD_ANNOTATION = "CT103 warning: pragma ignored: {reason}"
    HOST_ONLY = "CT104 note: no kernel and no launch here; the file stays as it is"

    # Why a launch stays as it is: reasons in the launch …
    MISSING_KERNEL = (
        "CT201 warning: the definition of kernel '{name}' was not found; where another source of "
        "the program has it, name that source too"
    )
    KERNEL_ARGUMENT = (
        "CT281 warning: '{name}' is an argument of '{function}' and may be any kernel; launch each "
        "kernel by its name where '{function}' is called"
    )
    DEVICE_LAUNCH = "CT202 warning: '{name}' is launched from device code"
    DIRECTIVE_IN_LAUNCH = (
        "CT203 warning: a preprocessor directive stands inside the launch; move it outside"
    )
    LAUNCH_IN_MACRO = (
        "CT204 warning: the launch stands in the body of macro '{name}'; write it out or move it "
        "into a function"
    )
    NOT_A_STATEMENT = (
        "CT205 warning: the launch is part of a larger statement; make it a statement of its own"
    )
    HIDDEN_CONFIGURATION = (
        "CT282 warning: '<<<{text}>>>' does not show grid and block one by one; write them with a "
        "comma between"
    )
    SIDE_EFFECT = (
        "CT206 warning: {what} in the launch may have a side effect; store its value in a variable "
        "first"
    )
    HIDDEN_LAUNCH = (
        "CT244 warning: the launch stands in the argument of a macro, or is compiled as something "
        "else; write it out as a statement"
    )
    UNCOMPILED_LAUNCH = (
        "CT277 warning: an #if leaves the launch out of what is compiled; where it should be "
        "tuned, give the options that compile it, such as -D"
    )
    LAUNCHED_BY_CALL = (
        "CT280 note: kernel '{kernel}' is launched by {function}, which stays as it is: {advice}"
    )
    EARLY_HEADER = (
        "CT224 warning: -include reads this header before the source; include it in the source "
        "instead"
    )
    IGNORED = "CT207 warning: left alone by #pragma cutune ignore"
    INDIRECT_LAUNCH = (
        "CT208 warning: '{callee}' is not the name of a kernel; launch the kernel by its name"
    )
    DIFFERING_KERNELS = (
        "CT209 warning: several kernels are named '{name}', and what is proven differs between "
        "them; give them different names"
    )
    OTHER_KERNEL = (
        "CT225 warning: the compiler launches {found} here, not '{name}' as it is written; launch "
        "the kernel by its own name"
    )
    UNRESOLVED_LAUNCH = (
        "CT226 warning: it is not known which kernel the compiler launches here: {reason}"
    )
    # … and reasons in its kernel.
    SHARED_MEMORY = "CT211 warning: uses shared memory, which may depend on the block's shape"
    BARRIER = "CT212 warning: synchronizes the threads of a block with {what}"
    WARP_LEVEL = "CT213 warning: uses the warp-level function {what}"
    COOPERATIVE = "CT214 warning: uses {what}, by which threads cooperate"
    ATOMIC_RESULT = (
        "CT216 warning: uses the result of {what}, which depends on the order of threads"
    )
    BLOCK_DEPENDENT = (
        "CT217 warning: uses {what} other than as blockIdx.{d} * blockDim.{d} + threadIdx.{d}"
    )
    UNKNOWN_FUNCTION = "CT218 warning: calls {what}, whose definition was not found"
    NOT_PROVEN = "CT219 warning: holds a construct that is not analysed: {what}"
    NO_INDEX = "CT221 warning: does not index its threads by blockIdx, blockDim and threadIdx"
    ORDERING = "CT222 warning: uses {what}, whose effect depends on the order of threads"
    NOT_COMPILED = (
        "CT228 warning: is not in the compiled code of the file; launch it from code that is "
        "compiled"
    )
    UNCERTAIN_ADDRESS = (
        "CT268 warning: kernel '{name}' is defined in another source, and its name alone does not "
        "say which kernel is meant"
    )
    VARIANT_MEMORY = (
        "CT270 note: has no variant '{variant}': its compiled code {what}; let each access go "
        "through one pointer parameter"
    )
    VARIANT_TEXT = "CT271 note: has no variant '{variant}': {what}; write it out plainly"
    VARIANT_USELESS = "CT272 note: needs no variant '{variant}': {what}"
    VARIANT_UNPROVEN = "CT273 note: has no variant '{variant}': its copy {what}"
    VARIANT_ORDER = (
        "CT274 note: has no variant '{variant}': {what}; no thread may depend on what others do "
        "meanwhile"
    )
    VARIANT_HEADER = (
        "CT275 note: has no variant '{variant}': {path} holds no launch that is tuned, and is not "
        "rewritten; move the kernel to the file of its launch, or build with cutune nvcc"
    )
    VARIANT_CALLEE = (
        "CT276 note: this launch of '{name}' has no choice among variants: more than its callee "
        "says what it calls; give the kernel a name of its own, and launch it below, on a line of "
        "its own, with its namespace and all arguments"
    )
    VARIANT_ELSEWHERE = (
        "CT279 note: has no variant '{variant}': another source, {path}, defines it; launch it "
        "from there"
    )
    NO_COMPILED_CODE = (
        "CT283 warning: is not proven without its compiled code; to have it give nvcc and the "
        "file's own options (-I, -D, -std)"
    )
    UNPROVEN_CODE = "CT263 warning: is not proven on its compiled code, which {what}"
    KERNEL_REASON = "CT229 note: kernel '{kernel}' {message}"
    REDUNDANT_THREADS = (
        "CT230 warning: kernel '{kernel}' does not index {d}, but its block is {size} wide in {d}: "
        "{size} threads do the same work and race"
    )
    REDUNDANT_BLOCKS = (
        "CT246 warning: kernel '{kernel}' does not index {d}, but its grid has {size} blocks in "
        "{d}: they all do the same work and race"
    )
    # Annotations that cannot be applied.
    UNKNOWN_ANNOTATED_KERNEL = (
        "CT231 warning: annotation ignored: no kernel is named '{name}'; known: {known}"
    )
    UNKNOWN_PARAMETER = (
        "CT232 warning: annotation ignored: '{name}' is no integer parameter of kernel '{kernel}'; "
        "it has: {known}"
    )
    MEMBER_PARAMETER = (
        "CT233 warning: annotation ignored: '{name}' is a member, whose value is not seen at the "
        "launch; pass it as an integer argument"
    )
    EMPTY_CANDIDATES = (
        "CT234 warning: annotation ignored: no thread block of 32 threads or more satisfies it"
    )
    UNKNOWN_GRID_FORMULA = (
        "CT235 warning: annotation ignored: write the grid in {d} as ceil(g / {d}) or g / {d}, "
        "with g a formula of integer parameters, or as keep; as a number only where block(...) "
        "does not name {d}"
    )
    NO_ANNOTATED_DIMENSION = (
        "CT236 warning: annotation of kernel '{kernel}' names no dimension; add block(x: 32..1024) "
        "for those in which any block gives the same results"
    )
    UNINDEXED_DIMENSION = "CT237 warning: annotation ignored: kernel '{kernel}' does not index {d}"
    DYNAMIC_SHARED_MEMORY = (
        "CT238 warning: the launch asks for dynamic shared memory, and its dependence on the "
        "thread block is not known; add shared(bytes as a formula of x, y, z) to the annotation, "
        "or shared(keep)"
    )
    UNKNOWN_SHARED_FORMULA = (
        "CT247 warning: annotation ignored: shared must be a number of bytes made of x, y, z and "
        "integers by + - * /, min, max, ceil; '/' and '%' by a number only"
    )
    USELESS_ANNOTATION = (
        "CT248 warning: annotation ignored: kernel '{kernel}' {message}, which no annotation can "
        "settle"
    )
    WARPS_NOT_KEPT = (
        "CT249 warning: annotation ignored: kernel '{kernel}' holds warp-level code, and none of "
        "its candidates has whole warps in x; name multiples of 32"
    )
    UNKNOWN_CONDITION = (
        "CT239 warning: annotation ignored: its condition holds '{name}'; only x, y and z may "
        "occur in it"
    )

    # Host integers annotated as tunable.
    TUNABLE_OUTSIDE = (
        "CT250 warning: pragma ignored: it stands outside of host functions; put it before a local "
        "declaration, a #define or a constexpr int"
    )
    NO_TUNABLE_VALUE = (
        "CT251 warning: pragma ignored: the next statement does not give '{name}' a value; write "
        "after the pragma, in the same block: int {name} = VALUE;"
    )
    NOT_A_HOST_INTEGER = (
        "CT252 warning: pragma ignored: '{name}' is '{type}', not an integer variable; write: int "
        "{name} = VALUE;"
    )
    UNKNOWN_DATA = (
        "CT253 warning: pragma ignored: '{name}' does not occur before it; name sizes that are "
        "known there in data(...)"
    )
    TUNABLE_WITHOUT_DATA = (
        "CT254 warning: pragma ignored: it names no sizes; add those that the choice depends on: "
        "data(N)"
    )
    TUNED_TWICE = "CT255 warning: pragma ignored: '{name}' is tuned by an earlier pragma"
    BAD_CHOICES = (
        "CT256 warning: pragma ignored: '{name}' needs 1 to {most} {kind}, each of them once, a "
        "range in rising order"
    )
    UNPAIRED_REGION = "CT257 warning: region ignored: it has no matching 'region {other}'"
    REGION_ACROSS_BLOCKS = (
        "CT258 warning: region ignored: begin and end stand in different blocks, or regions are "
        "nested; put both into one block"
    )
    REGION_IN_STATEMENT = (
        "CT259 warning: region ignored: no statement may stand here; put the pragma between two "
        "statements of a host function, in braces"
    )

    TUNABLE_IN_HEADER = (
        "CT260 warning: pragma ignored: -include reads this header before the source; include it "
        "in the source instead"
    )
    TUNABLE_SIDE_EFFECT = (
        "CT261 warning: pragma ignored: the value of '{name}' changes a variable; compute it before"
    )
    UNKNOWN_IN_CONDITION = (
        "CT262 warning: pragma ignored: its condition holds '{name}'; only {known} may occur in it"
    )
    NOT_REPEATED = (
        "CT266 warning: 'repeat' ignored, each configuration has a process of its own: {reason}"
    )
    NO_CONSTANT_VALUE = (
        "CT264 warning: pragma ignored: '{name}' gets no value right behind it; write there, in "
        "one line: #define {name} VALUE, or constexpr int {name} = VALUE;"
    )
    CONSTANT_TWICE = (
        "CT265 warning: pragma ignored: '{name}' is defined in several places; define it in one"
    )
    NO_HOST_TUNABLES = (
        "CT420 error: '{path}' has no parameters; write #pragma cutune tune(m: 4, 8) data(N) "
        "before 'int m = VALUE;', or #pragma cutune tune(TILE: 8, 16) before '#define TILE VALUE'"
    )
    NO_REGION = (
        "CT483 error: '{path}' does not say what is timed; write #pragma cutune region begin "
        "before it, and #pragma cutune region end behind it{where}"
    )
    REGIONS_NEED_GPU = (
        "CT421 error: no GPU found, and the emulated device cannot time regions; measure on a GPU, "
        "or only try whether the configurations run: cutune collect (in place of tune), or bat, "
        "with --on emulated"
    )
    NO_RUN_ENDED_WELL = "CT422 error: nothing was measured: {reason}"
    NOT_SWEPT = (
        "CT431 error: no thread block was timed on {device} for the launches of '{path}' in its "
        "present form; run: cutune collect --on gpu, then cutune fit --model neighbours"
    )
    NO_HOST_TIMES = (
        "CT423 error: no times were measured for the host tunables of '{path}' in its present "
        "form; run: cutune collect --tunables"
    )
    AMBIGUOUS_REGION = (
        "CT424 error: '{name}' is given values for several sizes before one region ends; put the "
        "region where its time belongs to one size"
    )
    BAD_SWEEP = "CT425 error: {reason}"
    CONFIGURATION_FAILED = (
        "CT426 warning: {count} runs failed and are left out ({how}), the first with {reason}"
    )

    # Programs on the emulated device.
    STATIC_CUDART = (
        "CT440 error: '{path}' has NVIDIA's CUDA runtime built in and can only run on a GPU; build "
        "all of it again, by cutune nvcc with CUTUNE_MODE=tuned,emulated, or by nvcc with: "
        "NVCC_APPEND_FLAGS='{flags}'"
    )
    NOT_RUN = "CT441 error: cannot run '{path}': {reason}"
    NO_LAUNCHES = "CT442 warning: '{path}' launched no kernel on the emulated device"
    OTHER_CUDART = (
        "CT443 error: '{path}' was built with another CUDA version: it asks for {found}, this nvcc "
        "offers {offered}; name its nvcc in CUDACXX"
    )

    # The emulated device: CT45x building and loading, CT46x errors of a launch.
    BUILD_FAILED = "CT450 error: cannot build {name} with {compiler}: {reason}"
    UNKNOWN_KERNEL = "CT452 error: the module has no kernel '{name}'; it has: {known}"
    BAD_LAUNCH = "CT453 error: kernel '{kernel}' cannot be launched: {reason}"
    ILLEGAL_ADDRESS = "CT460 error: illegal address: {reason}"
    MISALIGNED_ADDRESS = "CT461 error: misaligned address: {reason}"
    TRAPPED = "CT462 error: trap: {reason}"
    FAILED_ASSERTION = "CT463 error: failed assertion: {reason}"
    DEADLOCK = "CT464 error: deadlock: {reason}"
    INSTRUCTION_LIMIT = "CT465 error: instruction limit reached: {reason}"
    # Findings of `run --check`; `where` names kernel, block, thread and the number of times.
    OUT_OF_BOUNDS = "CT470 error: {text}; {where}"
    MISALIGNED = "CT471 error: misaligned {text}; {where}"
    ENDED_BY_SIGNAL = (
        "CT454 warning: '{path}' was ended by {name}; what was found until then is shown"
    )
    RUNS_LONG = (
        "CT455 warning: '{path}' has run for {seconds} s; --limit N ends a launch that needs more "
        "than N warp instructions, Ctrl-C the program"
    )
    USE_AFTER_FREE = "CT472 error: {text}; {where}"
    UNWRITTEN_SHARED = (
        "CT473 error: {access} of shared memory that no thread has written, at byte {text}; {where}"
    )
    UNWRITTEN_GLOBAL = (
        "CT474 error: {access} of device memory that nobody has written, at byte {text} of its "
        "allocation; {where}"
    )
    SHARED_RACE = (
        "CT475 error: race on shared memory: {access} and {other} of different threads with no "
        "barrier between them; {where}"
    )
    GLOBAL_RACE = (
        "CT476 error: race on global memory: {access} and {other} of different threads of a block "
        "with no barrier between them; {where}"
    )
    BLOCK_RACE = (
        "CT477 error: race between blocks: {access} and {other} of the same address; {where}"
    )
    DIVERGED_RACE = (
        "CT478 warning: race on {text} memory: {access} and {other} of lanes that have diverged, "
        "with no __syncwarp() between them; {where}"
    )
    BARRIER_DIVERGENCE = "CT479 error: not all threads of the block reach this barrier; {where}"
    SAME_VALUE_RACE = (
        "CT480 note: benign race: {access} and {other} of one address, but the store writes the "
        "value that is there already; {where}"
    )
    EXITED_AT_BARRIER = (
        "CT481 note: {text} threads of the block have ended before this barrier; {where}"
    )
    OTHER_PARTY = "CT482 note: the other access is by {party}"
    UNSUPPORTED_AT_RUN_TIME = "CT466 error: not supported by the emulated device: {reason}"

    EDIT_CONFLICT = "CT301 error: passes '{first}' and '{second}' both edit this place"
    HIDDEN_MEMBER = (
        "CT302 warning: launch left alone: macro '{name}' would expand inside the rewritten "
        "launch; rename it"
    )
    NO_STATIC_COUNTERS = "CT303 warning: no static counters: {reason}"

    UNKNOWN_PASS = "CT304 error: no pass is named '{name}'; known: {known}"

    FEWER_COUNTED = (
        "CT404 note: kernel '{kernel}' takes long at these sizes: {kept} of its {count} candidate "
        "thread blocks were {done}, and the choice is among these"
    )
    SAMPLED = (
        "CT405 note: kernel '{kernel}' takes too long at these sizes to be counted as a whole: "
        "about {threads} of its threads were counted, in blocks all over the grid, and stand for "
        "all"
    )
    BAD_RUN = "CT410 error: cannot fill in '{template}': {reason}"
    RUN_FAILED = "CT411 error: '{command}' failed on {where}: {reason}"
    CUT_SHORT = (
        "CT445 note: '{command}' executes more than the emulated device has time for: from some "
        "launch on its kernels were only recorded, not executed; if these launches depend on what "
        "kernels compute, choose smaller sizes{advice}"
    )
    NOT_TRIED = (
        "CT446 note: kernel '{kernel}' takes too long at these sizes to try all of its thread "
        "blocks; that they give the same is proven, but not tried besides"
    )
    NOT_TIMED = "CT428 error: '{command}' timed no launch: {reason}"
    NO_COUNTERS = "CT429 error: no hardware counters: {reason}"
    NEVER_LAUNCHED = (
        "CT412 warning: this launch of '{kernel}' did not happen in any run; it stays as it is"
    )
    OTHER_ENTRY = (
        "CT444 warning: '{entry}' was launched here, which is not the kernel '{kernel}' that the "
        "compiler named; the launch stays as it is"
    )
    MANY_INSTANCES = (
        "CT413 warning: this launch runs several instances of '{kernel}' which the types of its "
        "arguments do not tell apart, and stays as it is; launch each in a function of its own"
    )
    DIFFERENT_SHARED_MEMORY = (
        "CT419 warning: this launch of '{kernel}' computes its shared memory from the thread block "
        "by another formula than an earlier one; it stays as it is"
    )
    DATA_DEPENDENT = (
        "CT414 warning: the work of kernel '{kernel}' was not measured ({reason}); its launches "
        "stay as they are{advice}"
    )
    UNSEEN_MEMBER = (
        "CT432 warning: kernel '{kernel}' depends on '{name}', whose value is not seen at the "
        "launch; its launches stay as they are"
    )
    COUNTED_ON_DATA = (
        "CT418 note: kernel '{kernel}' is counted only at the sizes and on the data of the runs, "
        "which should be typical: {reason}"
    )
    RESULTS_DIFFER = (
        "CT416 warning: the results of kernel '{kernel}' change ({difference}) with thread "
        "{blocks}, left out for that{advice}"
    )
    CANDIDATES_UNTRIED = (
        "CT448 note: {count} candidate thread blocks of kernel '{kernel}' do not fit its launches "
        "at this size: they were not tried, and are left out; with sizes that are powers of two "
        "more fit"
    )
    OTHER_SHARED = (
        "CT449 warning: no other thread block of kernel '{kernel}' was tried: for the program's "
        "own, shared(...) in its annotation is not the {bytes} bytes that the launch asks for"
    )
    RACY_ORIGINAL = (
        "CT427 warning: the results of kernel '{kernel}' change ({difference}) with thread "
        "{blocks}, left out for that; the original itself has a race, so its results depend on the "
        "order of its threads"
    )
    NOT_REPLAYED = (
        "CT417 warning: kernel '{kernel}' cannot be replayed at other sizes ({reason}); its "
        "launches stay as they are; if only some of its integers are sizes, name them: '#pragma "
        "cutune kernel {kernel} data(...)'"
    )
    NOTHING_TUNABLE = (
        "CT415 error: no launch in '{path}' can be tuned; 'cutune inspect --suggest' says why, and "
        "what helps"
    )
    ONE_SIZE = (
        "CT402 note: kernel '{kernel}' was counted at one size only ({sizes}), so how its work "
        "grows is not seen; let --vary give its size two values that take no longer{advice}"
    )
    ALIKE_SIZES = (
        "CT403 note: {names} of kernel '{kernel}' are equal in all runs, so their parts in its "
        "work are not told apart; add a run in which they differ: --vary takes a name for each"
    )
    NOTHING_LAUNCHED = (
        "CT401 error: '{command}' launched no kernel; does it find its input, and are its "
        "arguments right?"
    )
    NOTHING_TUNABLE_BUILT = (
        "CT447 error: '{command}' compiled {launches} through cutune; not one can be tuned{why}"
    )

    NOTHING_MODELLED = "CT503 error: no launch of '{path}' is tuned: {reason}"
    NO_MEASUREMENTS = (
        "CT501 warning: kernel '{kernel}' has no complete measurements; its launches stay as they "
        "are"
    )
    POOR_FIT = (
        "CT502 warning: counts of kernel '{kernel}' are {error} % off at sizes that took no "
        "part{where}; its launches stay as they are. Run it at larger sizes, apart, by the same "
        "command with other values of --vary{example}"
    )

    UNMODELLED_KERNEL = "CT510 error: no model of kernel '{name}'; known: {known}"
    MISSING_SIZE = "CT511 error: kernel '{kernel}' needs more sizes; add: {example}{meaning}"
    UNKNOWN_SIZE = "CT512 error: kernel '{kernel}' has no size '{name}'; known: {known}"

    IMPOSSIBLE_GRID = "CT515 error: kernel '{kernel}' cannot be launched at these sizes: {reason}"
    AMBIGUOUS_KERNEL = (
        "CT514 error: several kernels are named '{name}'; name one by --file or as an instance: "
        "{known}"
    )
    UNSUITED_MODEL = (
        "CT517 warning: the model of kernel '{kernel}' ranks thread blocks differently from the "
        "timings (rank correlation {correlation}); measure at the sizes that matter"
    )
    NOTHING_TO_JUDGE = (
        "CT516 error: the sweep has no launch of these programs beyond the training size; it has: "
        "{known}"
    )
    STALE_MODELS = (
        "CT513 error: '{path}' has changed since it was measured; run cutune tune, or cutune "
        "collect and fit"
    )

    # Tables of measured times, and classifiers made of them.
    MISSING_COLUMN = "CT540 error: the table has no column '{name}'; it has: {known}"
    BAD_CELL = "CT541 error: '{text}' in column '{column}' is not {wanted}"
    EMPTY_TABLE = "CT542 error: '{path}' has no row that can be used; check --where and the times"
    CONTRADICTING_ROWS = (
        "CT543 error: '{text}' in column '{column}' contradicts an earlier row of the same size; "
        "name the column of times with --time"
    )
    NO_SCIKIT_LEARN = (
        "CT544 error: the published procedure needs scikit-learn; run: pip install "
        "'cutune[neighbours]'"
    )
    BAD_TABLE_OPTION = "CT545 error: {reason}"

    OUTPUT_DIFFERS = "CT430 error: the results of '{command}' differ from the original's: {reason}"
    ORIGINAL_FAILED = "CT433 error: the original itself fails: '{command}' ends with {reason}"
    NOTHING_COMPARED = (
        "CT434 error: nothing was compared: everything that '{command}' writes varies from run to "
        "run; use --tolerance, --ignore or --file"
    )
    VARYING_LENGTH = (
        "CT435 error: {name} of '{command}' has {first} lines in one run and {second} in another, "
        "so it cannot be compared; leave out lines with --ignore REGEX, or use --file"
    )
    LEFT_OUT = (
        "CT436 note: not compared, because it varies between runs of '{command}' itself: {what}"
    )
    ONLY_STATUS = (
        "CT437 warning: only the exit status was compared: '{command}' writes no line that can be "
        "compared; use --file FILE"
    )
    NOT_SHAKEN = (
        "CT438 warning: no launch of '{command}' was given another execution configuration in "
        "these runs; nothing was tried"
    )
    SHAKEN_NOT_COMPILED = (
        "CT439 error: the program with changed launches does not compile, but the original does: "
        "{reason}"
    )
    NVCC_FAILED = "CT701 error: nvcc failed with status {status}: {command}"
    COMPILER_KILLED = (
        "CT714 error: '{program}' was ended by {signal}, which says nothing of the program; call "
        "cutune again"
    )
    NOT_PREPROCESSED = (
        "CT703 warning: nvcc cannot read the file ({reason}), so nothing is proven of its kernels; "
        "give the options that it compiles with (-I, -D, -std)"
    )
    NOT_CONFIRMED = (
        "CT709 warning: nvcc cannot compile the file ({reason}), so nothing is proven of its "
        "kernels; mend it, or give the options that it is compiled with, as for nvcc"
    )
    NOT_REWRITTEN = (
        "CT704 warning: '{path}' was compiled as it is, because its rewritten form does not "
        "compile: {reason}"
    )
    FAILED_REWRITING = "CT705 warning: compiled as it is, because cutune itself failed: {reason}"
    BUILD_COMMAND_FAILED = "CT706 error: the build failed with status {status}: {command}"
    CLEAN_COMMAND_FAILED = (
        "CT710 note: '{command}' ended with status {status}; the build goes on, there may be "
        "nothing to clean"
    )
    NOTHING_COMPILED = "CT707 error: '{command}' compiled no launch through cutune; {advice}"
    NO_LAUNCH_COMPILED = (
        "CT713 error: '{command}' compiled {sources} through cutune, which hold no launch "
        "'<<<…>>>'; those that libraries make (Thrust, CUB), or cudaLaunchKernel, cannot be tuned"
    )
    KNOWN_REMEDY = "CT716 note: {remedy}; try: export NVCC_APPEND_FLAGS={flag}"
    LINKED_UNTUNED = (
        "CT715 note: nothing of '{name}' was tuned yet, so its launches stay as they are; tune it "
        "once: cutune tune --make 'make' --clean 'make clean' --run '{run} …' (cutune help "
        "projects)"
    )
    FRONT_END_FAILED = (
        "CT708 warning: nvcc's front end did not say which kernels are launched: {reason}"
    )
    EXECUTED_WORD = (
        "CT712 error: nvcc would execute a part of {word!r} as a command; name the file, the "
        'folder or the value without ` $( " and line ends'
    )
    ENDLESS_TEXT = (
        "CT711 error: the preprocessed text of '{path}' is not complete after {seconds} s or "
        "{megabytes} MB: do its macros grow without end?"
    )
    # Parameters and trials.
    BAD_VALUES = (
        "CT800 error: '{name}' needs values, each given once and in rising order if it is a range: "
        "{reason}"
    )
    BAD_CHOICE_OPTION = (
        "CT801 error: '{text}' gives no values to a parameter; write it as --tune 'R=none,20,40', "
        "'W=1..8', or 'W=32..256:32'"
    )
    PARAMETER_TWICE = "CT802 error: parameter '{name}' is given twice; name it once"
    UNKNOWN_IN_SPACE = (
        "CT803 error: the condition '{condition}' holds '{name}', which is no parameter and no "
        "size; known: {known}"
    )
    NOTHING_ALLOWED = (
        "CT804 error: no configuration satisfies '{conditions}'; change a condition, or add values"
    )
    SPACE_TOO_LARGE = (
        "CT805 error: more combinations of {names} are allowed than fit into 2 GiB; give fewer "
        "values: --tune 'NAME=1,2,4'"
    )
    NOT_T1 = "CT806 error: '{path}' describes no space of parameters in the T1 format: {reason}"
    BAD_EXPRESSION = (
        "CT807 error: '{text}' is no expression of parameters: {reason}; write numbers, names, "
        "lists, comparisons, and, or, not"
    )
    NOWHERE = (
        "CT808 error: parameter '{name}' stands nowhere; write #pragma cutune tune({name}: …) "
        "before its #define, constexpr or int, or {{{name}}} in --nvcc-flag, --make or "
        "--run{further}"
    )
    SEVERAL_PLACES = (
        "CT809 error: parameter '{name}' stands in several places; leave it in one: a pragma, "
        "--nvcc-flag, --make or --run"
    )
    UNGUARDED_CONSTANT = (
        "CT810 error: '{name}' cannot be set from outside of '{path}'; write #ifndef {name} before "
        "its #define and #endif behind it, or emit without --as"
    )
    CHOSEN_NOWHERE = (
        "CT811 warning: {name} = {value} was chosen; give it where {{{name}}} stood for cutune "
        "collect, and to emit the same --nvcc-flag, --make and --tune"
    )
    LAUNCHES_STAY = (
        "CT812 warning: launches keep their thread blocks: they were proven with {name} = {own}, "
        "not {value}"
    )
    HOST_CHOICES_LEFT_OUT = (
        "CT813 warning: '{name}' is chosen by sizes at run time, which only the emitted program "
        "can do; it is left out"
    )
    HELD_BY_CONDITION = (
        "CT814 warning: '{name}' keeps its own value: it is compiled in, and the condition "
        "'{condition}' depends on the size of a run; change the condition so that it holds at all "
        "sizes"
    )
    BAD_BUDGET = (
        "CT815 error: '{text}' is no budget of a search; write configurations (200), a time (30s, "
        "10min, 2h) or a part of all that are allowed (5%), above zero and at most 100%"
    )
    UNKNOWN_TECHNIQUE = "CT816 error: no technique of search is named '{name}'; known: {known}"
    TECHNIQUE_NEEDS = (
        "CT817 error: the technique '{name}' is that of {package}; run: pip install "
        "'cutune[search]'"
    )
    WRONG_RESULT = (
        "CT818 warning: {count} runs wrote something else than the program does in its own "
        "configuration and are left out, the first with {reason}; where that is no result, leave "
        "it out: --ignore REGEX, or allow for it: --tolerance X"
    )
    OWN_FAILS = (
        "CT819 warning: at {count} sizes results are compared with nothing: the program fails in "
        "its own configuration: {reason}"
    )
    NOT_ALL_TRIED = (
        "CT820 error: techniques are compared where every configuration was tried, which is "
        "nowhere so (most {where}: {count} of {size}); run: cutune collect --tunables --on gpu "
        "without --search"
    )
    BAD_RESULTS = (
        "CT821 error: this is no {kind}: {reason}; correct it here, or say what the file is: "
        "--from NAME"
    )
    UNKNOWN_FORMAT = (
        "CT822 error: it is not clear in which format of results '{path}' is; name one: {option}"
    )
    SEVERAL_SIZES = (
        "CT823 error: a {kind} belongs to one device and problem size, and here are {devices} and "
        "{sizes}; take one of each: {example}"
    )
    NO_PLACE = "CT824 note: a {kind} has no place for: {what}"
    ALREADY_THERE = (
        "CT825 error: '{path}' is there already; name another file, or replace it: --force"
    )
    NOT_HELD = (
        "CT826 error: a {kind} cannot hold these results: {reason}; write another format: --to t4"
    )
    NO_RESULTS = (
        "CT827 error: '{path}' has no such results; name what it has with --only NAME=VALUE: "
        "{known}"
    )
    UNKNOWN_TUNER = "CT828 error: no tuner that is compared is named '{name}'; known: {known}"
    TUNERS_MISSING = (
        "CT829 note: not compared, because it is not installed: {names}; run: pip install "
        "{packages}"
    )
    NO_SUCH_TECHNIQUE = (
        "CT830 note: {tuner} is compared with its own {default}, because it has no technique "
        "'{name}'; it has: {known}"
    )
    NOT_WHOLE = (
        "CT831 error: searches are compared on tables of all configurations: {reason}; leave "
        "--space out, and the space is what was recorded, or take a part: --only NAME=VALUE"
    )
    NO_BENCHMARK = "CT832 error: no {kind} is named '{name}' in '{folder}'; known: {known}"
    EXAMPLE_FAILED = (
        "CT833 error: '{command}' failed in '{folder}': {reason}; correct it, or leave it out with "
        "-a and -b"
    )
    TUNER_FAILED = (
        "CT834 error: {tuner} failed in its own search ({reason}); take another technique with -t, "
        "or leave it out: -a {others}"
    )
    ONE_VALUE = "CT835 note: '{name}' gets one value for all sizes: {reason}; {remedy}"
    COPY_LEFT_OUT = (
        "CT836 warning: {values} is left out: {reason}; sizes for which it was chosen run the "
        "program's own values, cutune emit --as flags gives one set for all"
    )
    EXECUTOR_NEEDS = (
        "CT837 error: --executor {name} is that of {package}; run: pip install 'cutune[cluster]'"
    )
    NO_SUCH_GPU = (
        "CT838 error: --gpus names GPU {number}, and there is none of that number; there are: "
        "{known}"
    )
    NO_WORKER_LEFT = (
        "CT839 error: no worker is left to run trials (the last: {reason}); what has ended is "
        "kept: once there are workers, the same command goes on"
    )
    DIFFERENT_GPUS = (
        "CT840 error: the workers have different GPUs ({names}), whose times cannot be compared; "
        "let all have the same kind, here by --gpus 0,1"
    )
    WORKER_LOST = (
        "CT841 warning: a worker was lost ({name}); another takes its place, and its trial is "
        "tried once more"
    )
    ONE_AT_A_TIME = (
        "CT842 warning: the technique '{name}' asks for one configuration at a time, so that one "
        "of {count} workers is at work; those that use all are: {known}"
    )
    FEWER_WORKERS = (
        "CT846 warning: no worker comes in place of one that was lost ({reason}); {count} are left"
    )
    WORKER_WITHOUT = (
        "CT843 error: the worker {name} has no cutune, or another version of it ({reason}); "
        "install this one where the worker runs"
    )
    NO_SCHEDULER = (
        "CT844 error: no scheduler of dask answers at '{address}' ({reason}); start one: dask "
        "scheduler"
    )
    NO_SLURM = (
        "CT845 error: Slurm takes no job ({reason}); give what it asks for as "
        "--sbatch=--partition=NAME"
    )
    LARGE_PROJECT = (
        "CT847 error: '{folder}', which is copied for each build, holds {what}; call cutune in the "
        "folder of the project itself"
    )
    OUTSIDE_PROJECT = (
        "CT848 error: '{path}' does not lie below '{folder}', which is copied for each build; call "
        "cutune in a folder above both: --make 'make -C DIR'"
    )
    COPY_NOT_BUILT = (
        "CT849 error: '{command}' fails in a copy of '{folder}': {reason}; all of it is in "
        "'{log}'. {advice}"
    )
    NOT_IN_BUILD = (
        "CT850 error: '{command}' makes no {what} in the copy '{copy}'; there it has to compile "
        "the source by a relative path and to write the program, which --run starts as './app'"
    )
    TUNED_NOT_BUILT = (
        "CT851 warning: the project does not build with the tuned files in it, in '{copy}': "
        "{reason}; where other sources include a header with host integers or regions, move these "
        "into the source"
    )
    UNUSABLE_NVCC = "CT702 error: '{path}' is not a usable nvcc: {reason}"

    def __init__(self, line: str) -> None:
        head, _, template = line.partition(": ")
        #: As it is printed (`CT201`), and error, warning or note.
        self.number, self.severity = head.split()
        #: The message with named holes.
        self.template = template

    @property
    def meaning(self) -> str:
        """The text of its section in docs/diagnostics.md: meaning, and what to do about it."""
        return _meanings()[self.number]

    def section(self, heading: str) -> str:
        """Its section of a page: a heading (`###`), severity and message, and what it means."""
        message = self.template.replace("{{", "{").replace("}}", "}")
        return f"{heading} {self.number}\n\n*{self.severity}*: `{message}`\n\n{self.meaning}\n"


@cache
def _meanings() -> dict[str, str]:
    """Number → meaning. The page is long: it is read where somebody asks."""
    with open(_PAGE, encoding="utf-8") as file:
        sections = [text.split("\n\n") for text in file.read().split("\n### ")[1:]]
    return {number: meaning.strip() for number, _, meaning, *_ in sections}
