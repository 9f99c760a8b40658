"""The one table of messages: number, severity, template."""

from __future__ import annotations

from enum import Enum

ERROR, WARNING, NOTE = "error", "warning", "note"


class Code(Enum):
    """Every message: number, severity, template."""

    BUSY_WORKSPACE = (
        19,
        WARNING,
        "another cutune is at work on '{name}' in '{folder}'; waiting until it has ended",
    )
    NO_TEMPORARY_FOLDER = (
        20,
        ERROR,
        "no folder for temporary files can be made ({reason}); set TMPDIR to one that is writable",
    )
    CACHE_ELSEWHERE = (
        21,
        WARNING,
        "the cache '{path}' cannot be used ({reason}): it is '{other}' now; set XDG_CACHE_HOME",
    )
    NOTHING_CHANGED = (
        22,
        NOTE,
        "nothing has changed since this was last asked: the answer is the same (--again: anew)",
    )
    WRONG_USAGE = (23, ERROR, "{reason}; see: {help}")
    UNKNOWN_VERB = (24, ERROR, "no verb is named '{name}'; known: {known}")
    UNKNOWN_OPTION = (25, ERROR, "'{prog}' has no option '{name}'{further}")
    UNKNOWN_VALUE = (26, ERROR, "'{name}' is no value of {option}; known: {known}")
    UNKNOWN_TOPIC = (27, ERROR, "there is no help on '{name}'{further}")
    NO_SOURCE_THERE = (28, ERROR, "'{path}' names no CUDA source")
    REQUIRED_NOT_TUNABLE = (
        29,
        ERROR,
        "the launch of kernel '{kernel}', which --require '{pattern}' names, cannot be tuned: "
        "{reason}",
    )
    NOTHING_REQUIRED = (30, ERROR, "no launch is of a kernel '{name}'; known: {known}")
    UNREADABLE_FILE = (1, ERROR, "cannot read '{path}': {reason}")
    UNWRITABLE_FILE = (2, ERROR, "cannot write '{path}': {reason}")
    MISSING_NVCC = (
        3,
        ERROR,
        "nvcc not found; give --nvcc PATH, set CUDACXX, or run: pip install 'cutune[toolkit]'",
    )
    UNKNOWN_DEVICE = (4, ERROR, "unknown device '{name}'; known: {known}")
    UNKNOWN_SCHEMA = (5, ERROR, "'{path}' is not a {wanted} file: its first entry says '{found}'")
    TORN_LINE = (
        6,
        WARNING,
        "skipped line {line} of '{path}', which is torn or was written by another version",
    )
    MISSING_COMPILER = (7, ERROR, "no C++ compiler found; install g++ or set CXX")
    OUTPUT_IS_INPUT = (10, ERROR, "the output would replace the source '{path}'; name another file")
    NEEDS_FOLDER = (
        13,
        ERROR,
        "header '{header}' has to be rewritten too, so the output is a folder; write: -o {folder}",
    )
    ALREADY_TUNED = (
        11,
        ERROR,
        "'{path}' was written by cutune; tune the program that it was made from",
    )
    DAMAGED_FILE = (
        12,
        ERROR,
        "'{path}' is damaged or was written by another version ({reason}); run again: {command}",
    )
    NO_PYCUDA = (
        14,
        ERROR,
        "a real GPU is used through pycuda, which cannot be imported ({reason}); "
        "run: pip install 'cutune[gpu]'",
    )
    NO_GPU = (15, ERROR, "no GPU can be used here: {reason}")
    GPU_FAILED = (16, ERROR, "the GPU or its compiler refused a kernel: {reason}")
    NO_REPORT_EXTRA = (
        17,
        ERROR,
        "the report is made with {module}, which cannot be imported ({reason}); "
        "run: pip install 'cutune[report]'",
    )
    BAD_SIZE = (8, ERROR, "'{text}' is not {wanted}; write it as {example}")
    MISSING_STAGE = (9, ERROR, "'{path}' is missing; run first: {command}")

    UNBALANCED = (101, ERROR, "unbalanced '{bracket}'")
    NOT_CUDA = (102, ERROR, "no C++ code found; is '{path}' a CUDA source file?")
    BAD_ANNOTATION = (103, WARNING, "pragma ignored: {reason}")
    HOST_ONLY = (104, NOTE, "no kernel and no launch here; the file stays as it is")

    # Why a launch stays as it is: reasons in the launch …
    MISSING_KERNEL = (
        201,
        WARNING,
        "the definition of kernel '{name}' was not found; where another source of the program has "
        "it, name that source too",
    )
    KERNEL_ARGUMENT = (
        281,
        WARNING,
        "'{name}' is an argument of '{function}' and may be any kernel; launch each kernel by its "
        "name where '{function}' is called",
    )
    DEVICE_LAUNCH = (202, WARNING, "'{name}' is launched from device code")
    DIRECTIVE_IN_LAUNCH = (
        203,
        WARNING,
        "a preprocessor directive stands inside the launch; move it outside",
    )
    LAUNCH_IN_MACRO = (
        204,
        WARNING,
        "the launch stands in the body of macro '{name}'; write it out or move it into a function",
    )
    NOT_A_STATEMENT = (
        205,
        WARNING,
        "the launch is part of a larger statement; make it a statement of its own",
    )
    HIDDEN_CONFIGURATION = (
        282,
        WARNING,
        "'<<<{text}>>>' does not show grid and block one by one; write them with a comma between",
    )
    SIDE_EFFECT = (
        206,
        WARNING,
        "{what} in the launch may have a side effect; store its value in a variable first",
    )
    HIDDEN_LAUNCH = (
        244,
        WARNING,
        "the launch stands in the argument of a macro, or is compiled as something else; write it"
        " out as a statement",
    )
    UNCOMPILED_LAUNCH = (
        277,
        WARNING,
        "an #if leaves the launch out of what is compiled; where it should be tuned, give the "
        "options that compile it, such as -D",
    )
    LAUNCHED_BY_CALL = (
        280,
        NOTE,
        "kernel '{kernel}' is launched by {function}, which stays as it is: {advice}",
    )
    EARLY_HEADER = (
        224,
        WARNING,
        "-include reads this header before the source; include it in the source instead",
    )
    IGNORED = (207, WARNING, "left alone by #pragma cutune ignore")
    INDIRECT_LAUNCH = (
        208,
        WARNING,
        "'{callee}' is not the name of a kernel; launch the kernel by its name",
    )
    DIFFERING_KERNELS = (
        209,
        WARNING,
        "several kernels are named '{name}', and what is proven differs between them; give them "
        "different names",
    )
    OTHER_KERNEL = (
        225,
        WARNING,
        "the compiler launches {found} here, not '{name}' as it is written; launch the kernel by "
        "its own name",
    )
    UNRESOLVED_LAUNCH = (
        226,
        WARNING,
        "it is not known which kernel the compiler launches here: {reason}",
    )
    # … and reasons in its kernel.
    SHARED_MEMORY = (211, WARNING, "uses shared memory, which may depend on the block's shape")
    BARRIER = (212, WARNING, "synchronizes the threads of a block with {what}")
    WARP_LEVEL = (213, WARNING, "uses the warp-level function {what}")
    COOPERATIVE = (214, WARNING, "uses {what}, by which threads cooperate")
    ASSEMBLY = (215, WARNING, "holds inline assembly, which is not analysed")
    ATOMIC_RESULT = (
        216,
        WARNING,
        "uses the result of {what}, which depends on the order of threads",
    )
    BLOCK_DEPENDENT = (
        217,
        WARNING,
        "uses {what} other than as blockIdx.{d} * blockDim.{d} + threadIdx.{d}",
    )
    UNKNOWN_FUNCTION = (218, WARNING, "calls {what}, whose definition was not found")
    NOT_PROVEN = (219, WARNING, "holds a construct that is not analysed: {what}")
    UNRESOLVED_NAME = (
        220,
        WARNING,
        "uses '{what}', which is not declared in what was read and may be a macro; to have macros "
        "expanded give nvcc and the file's own options (-I, -D, -std)",
    )
    NO_INDEX = (221, WARNING, "does not index its threads by blockIdx, blockDim and threadIdx")
    ORDERING = (222, WARNING, "uses {what}, whose effect depends on the order of threads")
    CONDITIONAL_CODE = (
        223,
        WARNING,
        "holds #{what}; to have the branch known that is compiled give nvcc and the file's own "
        "options (-I, -D, -std)",
    )
    CONTRADICTION = (
        227,
        WARNING,
        "differs between source and compiled code: {what}",
    )
    NOT_COMPILED = (
        228,
        WARNING,
        "is not in the compiled code of the file; launch it from code that is compiled",
    )
    UNCERTAIN_ADDRESS = (
        268,
        WARNING,
        "kernel '{name}' is defined in another source, and its name alone does not say which "
        "kernel is meant",
    )
    VARIANT_MEMORY = (
        270,
        NOTE,
        "has no variant '{variant}': its compiled code {what}; let each access go through one "
        "pointer parameter",
    )
    VARIANT_TEXT = (271, NOTE, "has no variant '{variant}': {what}; write it out plainly")
    VARIANT_USELESS = (272, NOTE, "needs no variant '{variant}': {what}")
    VARIANT_UNPROVEN = (273, NOTE, "has no variant '{variant}': its copy {what}")
    VARIANT_ORDER = (
        274,
        NOTE,
        "has no variant '{variant}': {what}; no thread may depend on what others do meanwhile",
    )
    VARIANT_HEADER = (
        275,
        NOTE,
        "has no variant '{variant}': {path} holds no launch that is tuned, and is not rewritten;"
        " move the kernel to the file of its launch, or build with cutune nvcc",
    )
    VARIANT_CALLEE = (
        276,
        NOTE,
        "this launch of '{name}' has no choice among variants: more than its callee says what it "
        "calls; give the kernel a name of its own, and launch it below, on a line of its own, with "
        "its namespace and all arguments",
    )
    VARIANT_ELSEWHERE = (
        279,
        NOTE,
        "has no variant '{variant}': another source, {path}, defines it; launch it from there",
    )
    UNPROVEN_CODE = (263, WARNING, "is not proven on its compiled code, which {what}")
    KERNEL_REASON = (229, NOTE, "kernel '{kernel}' {message}")
    REDUNDANT_THREADS = (
        230,
        WARNING,
        "kernel '{kernel}' does not index {d}, but its block is {size} wide in {d}: {size} threads "
        "do the same work and race",
    )
    REDUNDANT_BLOCKS = (
        246,
        WARNING,
        "kernel '{kernel}' does not index {d}, but its grid has {size} blocks in {d}: they all do "
        "the same work and race",
    )
    # Annotations that cannot be applied.
    UNKNOWN_ANNOTATED_KERNEL = (
        231,
        WARNING,
        "annotation ignored: no kernel is named '{name}'; known: {known}",
    )
    UNKNOWN_PARAMETER = (
        232,
        WARNING,
        "annotation ignored: '{name}' is no integer parameter of kernel '{kernel}'; it has: "
        "{known}",
    )
    MEMBER_PARAMETER = (
        233,
        WARNING,
        "annotation ignored: '{name}' is a member, whose value is not seen at the launch; pass it "
        "as an integer argument",
    )
    EMPTY_CANDIDATES = (
        234,
        WARNING,
        "annotation ignored: no thread block of 32 threads or more satisfies it",
    )
    UNKNOWN_GRID_FORMULA = (
        235,
        WARNING,
        "annotation ignored: write the grid in {d} as ceil(g / {d}) or g / {d}, with g a formula "
        "of integer parameters, or as keep; as a number only where block(...) does not name {d}",
    )
    NO_ANNOTATED_DIMENSION = (
        236,
        WARNING,
        "annotation of kernel '{kernel}' names no dimension; add block(x: 32..1024) for those in "
        "which any block gives the same results",
    )
    UNINDEXED_DIMENSION = (
        237,
        WARNING,
        "annotation ignored: kernel '{kernel}' does not index {d}",
    )
    DYNAMIC_SHARED_MEMORY = (
        238,
        WARNING,
        "the launch asks for dynamic shared memory, and its dependence on the thread block is not"
        " known; add shared(bytes as a formula of x, y, z) to the annotation, or shared(keep)",
    )
    UNKNOWN_SHARED_FORMULA = (
        247,
        WARNING,
        "annotation ignored: shared must be a number of bytes made of x, y, z and integers by + - "
        "* /, min, max, ceil; '/' and '%' by a number only",
    )
    USELESS_ANNOTATION = (
        248,
        WARNING,
        "annotation ignored: kernel '{kernel}' {message}, which no annotation can settle",
    )
    WARPS_NOT_KEPT = (
        249,
        WARNING,
        "annotation ignored: kernel '{kernel}' holds warp-level code, and none of its candidates "
        "has whole warps in x; name multiples of 32",
    )
    UNKNOWN_CONDITION = (
        239,
        WARNING,
        "annotation ignored: its condition holds '{name}'; only x, y and z may occur in it",
    )

    # Host integers annotated as tunable.
    TUNABLE_OUTSIDE = (
        250,
        WARNING,
        "pragma ignored: it stands outside of host functions; put it before a local declaration, a "
        "#define or a constexpr int",
    )
    NO_TUNABLE_VALUE = (
        251,
        WARNING,
        "pragma ignored: the next statement does not give '{name}' a value; write after the "
        "pragma, in the same block: int {name} = VALUE;",
    )
    NOT_A_HOST_INTEGER = (
        252,
        WARNING,
        "pragma ignored: '{name}' is '{type}', not an integer variable; write: int {name} = VALUE;",
    )
    UNKNOWN_DATA = (
        253,
        WARNING,
        "pragma ignored: '{name}' does not occur before it; name sizes that are known there in "
        "data(...)",
    )
    TUNABLE_WITHOUT_DATA = (
        254,
        WARNING,
        "pragma ignored: it names no sizes; add those that the choice depends on: data(N)",
    )
    TUNED_TWICE = (255, WARNING, "pragma ignored: '{name}' is tuned by an earlier pragma")
    BAD_CHOICES = (
        256,
        WARNING,
        "pragma ignored: '{name}' needs 1 to {most} {kind}, each of them once, a range in rising "
        "order",
    )
    UNPAIRED_REGION = (
        257,
        WARNING,
        "region ignored: it has no matching 'region {other}'",
    )
    REGION_ACROSS_BLOCKS = (
        258,
        WARNING,
        "region ignored: begin and end stand in different blocks, or regions are nested; put both "
        "into one block",
    )
    REGION_IN_STATEMENT = (
        259,
        WARNING,
        "region ignored: no statement may stand here; put the pragma between two statements of a "
        "host function, in braces",
    )

    TUNABLE_IN_HEADER = (
        260,
        WARNING,
        "pragma ignored: -include reads this header before the source; include it in the source "
        "instead",
    )
    TUNABLE_SIDE_EFFECT = (
        261,
        WARNING,
        "pragma ignored: the value of '{name}' changes a variable; compute it before",
    )
    UNKNOWN_IN_CONDITION = (
        262,
        WARNING,
        "pragma ignored: its condition holds '{name}'; only {known} may occur in it",
    )
    NOT_REPEATED = (
        266,
        WARNING,
        "'repeat' ignored, each configuration has a process of its own: {reason}",
    )
    NO_CONSTANT_VALUE = (
        264,
        WARNING,
        "pragma ignored: '{name}' gets no value right behind it; write there, in one line: #define "
        "{name} VALUE, or constexpr int {name} = VALUE;",
    )
    CONSTANT_TWICE = (
        265,
        WARNING,
        "pragma ignored: '{name}' is defined in several places; define it in one",
    )
    NO_HOST_TUNABLES = (
        420,
        ERROR,
        "'{path}' has no parameters; write #pragma cutune tune(m: 4, 8) data(N) before 'int m = "
        "VALUE;', or #pragma cutune tune(TILE: 8, 16) before '#define TILE VALUE'",
    )
    NO_REGION = (
        483,
        ERROR,
        "'{path}' does not say what is timed; write #pragma cutune region begin before it, and "
        "#pragma cutune region end behind it{where}",
    )
    REGIONS_NEED_GPU = (
        421,
        ERROR,
        "no GPU found, and the emulated device cannot time regions; measure on a GPU, or only try"
        " whether the configurations run: cutune collect (in place of tune), or bat, with --on "
        "emulated",
    )
    NO_RUN_ENDED_WELL = (422, ERROR, "nothing was measured: {reason}")
    NOT_SWEPT = (
        431,
        ERROR,
        "no thread block was timed on {device} for the launches of '{path}' in its present form; "
        "run: cutune collect --on gpu, then cutune fit --model neighbours",
    )
    NO_HOST_TIMES = (
        423,
        ERROR,
        "no times were measured for the host tunables of '{path}' in its present form; run: "
        "cutune collect --tunables",
    )
    AMBIGUOUS_REGION = (
        424,
        ERROR,
        "'{name}' is given values for several sizes before one region ends; put the region where "
        "its time belongs to one size",
    )
    BAD_SWEEP = (425, ERROR, "{reason}")
    CONFIGURATION_FAILED = (
        426,
        WARNING,
        "{count} runs failed and are left out ({how}), the first with {reason}",
    )

    # Programs on the emulated device.
    STATIC_CUDART = (
        440,
        ERROR,
        "'{path}' has NVIDIA's CUDA runtime built in and can only run on a GPU; build all of it "
        "again, by cutune nvcc with CUTUNE_MODE=tuned,emulated, or by nvcc with: "
        "NVCC_APPEND_FLAGS='{flags}'",
    )
    NOT_RUN = (441, ERROR, "cannot run '{path}': {reason}")
    NO_LAUNCHES = (442, WARNING, "'{path}' launched no kernel on the emulated device")
    OTHER_CUDART = (
        443,
        ERROR,
        "'{path}' was built with another CUDA version: it asks for {found}, this nvcc offers "
        "{offered}; name its nvcc in CUDACXX",
    )

    # The emulated device: CT45x building and loading, CT46x errors of a launch.
    BUILD_FAILED = (450, ERROR, "cannot build {name} with {compiler}: {reason}")
    UNSUPPORTED_PTX = (451, ERROR, "PTX line {line}, source line {source_line}: {reason}")
    UNKNOWN_KERNEL = (452, ERROR, "the module has no kernel '{name}'; it has: {known}")
    BAD_LAUNCH = (453, ERROR, "kernel '{kernel}' cannot be launched: {reason}")
    ILLEGAL_ADDRESS = (460, ERROR, "illegal address: {reason}")
    MISALIGNED_ADDRESS = (461, ERROR, "misaligned address: {reason}")
    TRAPPED = (462, ERROR, "trap: {reason}")
    FAILED_ASSERTION = (463, ERROR, "failed assertion: {reason}")
    DEADLOCK = (464, ERROR, "deadlock: {reason}")
    INSTRUCTION_LIMIT = (465, ERROR, "instruction limit reached: {reason}")
    # Findings of `run --check`; `where` names kernel, block, thread and the number of times.
    OUT_OF_BOUNDS = (470, ERROR, "{text}; {where}")
    MISALIGNED = (471, ERROR, "misaligned {text}; {where}")
    ENDED_BY_SIGNAL = (
        454,
        WARNING,
        "'{path}' was ended by {name}; what was found until then is shown",
    )
    RUNS_LONG = (
        455,
        WARNING,
        "'{path}' has run for {seconds} s; --limit N ends a launch that needs more than N warp "
        "instructions, Ctrl-C the program",
    )
    USE_AFTER_FREE = (472, ERROR, "{text}; {where}")
    UNWRITTEN_SHARED = (
        473,
        ERROR,
        "{access} of shared memory that no thread has written, at byte {text}; {where}",
    )
    UNWRITTEN_GLOBAL = (
        474,
        ERROR,
        "{access} of device memory that nobody has written, at byte {text} of its allocation; "
        "{where}",
    )
    SHARED_RACE = (
        475,
        ERROR,
        "race on shared memory: {access} and {other} of different threads with no barrier between "
        "them; {where}",
    )
    GLOBAL_RACE = (
        476,
        ERROR,
        "race on global memory: {access} and {other} of different threads of a block with no "
        "barrier between them; {where}",
    )
    BLOCK_RACE = (
        477,
        ERROR,
        "race between blocks: {access} and {other} of the same address; {where}",
    )
    DIVERGED_RACE = (
        478,
        WARNING,
        "race on {text} memory: {access} and {other} of lanes that have diverged, with no "
        "__syncwarp() between them; {where}",
    )
    BARRIER_DIVERGENCE = (
        479,
        ERROR,
        "not all threads of the block reach this barrier; {where}",
    )
    SAME_VALUE_RACE = (
        480,
        NOTE,
        "benign race: {access} and {other} of one address, but the store writes the value that is"
        " there already; {where}",
    )
    EXITED_AT_BARRIER = (
        481,
        NOTE,
        "{text} threads of the block have ended before this barrier; {where}",
    )
    OTHER_PARTY = (
        482,
        NOTE,
        "the other access is by {party}",
    )
    UNSUPPORTED_AT_RUN_TIME = (466, ERROR, "not supported by the emulated device: {reason}")

    EDIT_CONFLICT = (301, ERROR, "passes '{first}' and '{second}' both edit this place")
    HIDDEN_MEMBER = (
        302,
        WARNING,
        "launch left alone: macro '{name}' would expand inside the rewritten launch; rename it",
    )
    NO_STATIC_COUNTERS = (303, WARNING, "no static counters: {reason}")

    UNKNOWN_PASS = (304, ERROR, "no pass is named '{name}'; known: {known}")

    FEWER_COUNTED = (
        404,
        NOTE,
        "kernel '{kernel}' takes long at these sizes: {kept} of its {count} candidate thread "
        "blocks were {done}, and the choice is among these",
    )
    SAMPLED = (
        405,
        NOTE,
        "kernel '{kernel}' takes too long at these sizes to be counted as a whole: about {threads} "
        "of its threads were counted, in blocks all over the grid, and stand for all",
    )
    BAD_RUN = (410, ERROR, "cannot fill in '{template}': {reason}")
    RUN_FAILED = (411, ERROR, "'{command}' failed on {where}: {reason}")
    CUT_SHORT = (
        445,
        NOTE,
        "'{command}' executes more than the emulated device has time for: from some launch on its "
        "kernels were only recorded, not executed; if these launches depend on what kernels "
        "compute, choose smaller sizes{advice}",
    )
    NOT_TRIED = (
        446,
        NOTE,
        "kernel '{kernel}' takes too long at these sizes to try all of its thread blocks; that "
        "they give the same is proven, but not tried besides",
    )
    NOT_TIMED = (428, ERROR, "'{command}' timed no launch: {reason}")
    NO_COUNTERS = (429, ERROR, "no hardware counters: {reason}")
    NEVER_LAUNCHED = (
        412,
        WARNING,
        "this launch of '{kernel}' did not happen in any run; it stays as it is",
    )
    OTHER_ENTRY = (
        444,
        WARNING,
        "'{entry}' was launched here, which is not the kernel '{kernel}' that the compiler named; "
        "the launch stays as it is",
    )
    MANY_INSTANCES = (
        413,
        WARNING,
        "this launch runs several instances of '{kernel}' which the types of its arguments do not "
        "tell apart, and stays as it is; launch each in a function of its own",
    )
    DIFFERENT_SHARED_MEMORY = (
        419,
        WARNING,
        "this launch of '{kernel}' computes its shared memory from the thread block by another "
        "formula than an earlier one; it stays as it is",
    )
    DATA_DEPENDENT = (
        414,
        WARNING,
        "the work of kernel '{kernel}' was not measured ({reason}); its launches stay as they "
        "are{advice}",
    )
    UNSEEN_MEMBER = (
        432,
        WARNING,
        "kernel '{kernel}' depends on '{name}', whose value is not seen at the launch; its "
        "launches stay as they are",
    )
    COUNTED_ON_DATA = (
        418,
        NOTE,
        "kernel '{kernel}' is counted only at the sizes and on the data of the runs, which should"
        " be typical: {reason}",
    )
    RESULTS_DIFFER = (
        416,
        WARNING,
        "the results of kernel '{kernel}' change ({difference}) with thread {blocks}, left out for "
        "that{advice}",
    )
    CANDIDATES_UNTRIED = (
        448,
        NOTE,
        "{count} candidate thread blocks of kernel '{kernel}' do not fit its launches at this "
        "size: they were not tried, and are left out; with sizes that are powers of two more fit",
    )
    OTHER_SHARED = (
        449,
        WARNING,
        "no other thread block of kernel '{kernel}' was tried: for the program's own, shared(...) "
        "in its annotation is not the {bytes} bytes that the launch asks for",
    )
    RACY_ORIGINAL = (
        427,
        WARNING,
        "the results of kernel '{kernel}' change ({difference}) with thread {blocks}, left out for "
        "that; the original itself has a race, so its results depend on the order of its threads",
    )
    NOT_REPLAYED = (
        417,
        WARNING,
        "kernel '{kernel}' cannot be replayed at other sizes ({reason}); its launches stay as "
        "they are; if only some of its integers are sizes, name them: '#pragma cutune kernel "
        "{kernel} data(...)'",
    )
    NOTHING_TUNABLE = (
        415,
        ERROR,
        "no launch in '{path}' can be tuned; 'cutune inspect --suggest' says why, and what helps",
    )
    ONE_SIZE = (
        402,
        NOTE,
        "kernel '{kernel}' was counted at one size only ({sizes}), so how its work grows is not "
        "seen; let --vary give its size two values that take no longer{advice}",
    )
    ALIKE_SIZES = (
        403,
        NOTE,
        "{names} of kernel '{kernel}' are equal in all runs, so their parts in its work are not "
        "told apart; add a run in which they differ: --vary takes a name for each",
    )
    NOTHING_LAUNCHED = (
        401,
        ERROR,
        "'{command}' launched no kernel; does it find its input, and are its arguments right?",
    )
    NOTHING_TUNABLE_BUILT = (
        447,
        ERROR,
        "'{command}' compiled {launches} through cutune; not one can be tuned{why}",
    )

    NOTHING_MODELLED = (
        503,
        ERROR,
        "no launch of '{path}' is tuned: {reason}",
    )
    NO_MEASUREMENTS = (
        501,
        WARNING,
        "kernel '{kernel}' has no complete measurements; its launches stay as they are",
    )
    POOR_FIT = (
        502,
        WARNING,
        "counts of kernel '{kernel}' are {error} % off at sizes that took no part{where}; its "
        "launches stay as they are. Run it at larger sizes, apart, by the same command with other "
        "values of --vary{example}",
    )

    UNMODELLED_KERNEL = (510, ERROR, "no model of kernel '{name}'; known: {known}")
    MISSING_SIZE = (511, ERROR, "kernel '{kernel}' needs more sizes; add: {example}{meaning}")
    UNKNOWN_SIZE = (512, ERROR, "kernel '{kernel}' has no size '{name}'; known: {known}")

    IMPOSSIBLE_GRID = (515, ERROR, "kernel '{kernel}' cannot be launched at these sizes: {reason}")
    AMBIGUOUS_KERNEL = (
        514,
        ERROR,
        "several kernels are named '{name}'; name one by --file or as an instance: {known}",
    )
    UNSUITED_MODEL = (
        517,
        WARNING,
        "the model of kernel '{kernel}' ranks thread blocks differently from the timings (rank "
        "correlation {correlation}); measure at the sizes that matter",
    )
    NOTHING_TO_JUDGE = (
        516,
        ERROR,
        "the sweep has no launch of these programs beyond the training size; it has: {known}",
    )
    STALE_MODELS = (
        513,
        ERROR,
        "'{path}' has changed since it was measured; run cutune tune, or cutune collect and fit",
    )

    # Tables of measured times, and classifiers made of them.
    MISSING_COLUMN = (540, ERROR, "the table has no column '{name}'; it has: {known}")
    BAD_CELL = (541, ERROR, "'{text}' in column '{column}' is not {wanted}")
    EMPTY_TABLE = (542, ERROR, "'{path}' has no row that can be used; check --where and the times")
    CONTRADICTING_ROWS = (
        543,
        ERROR,
        "'{text}' in column '{column}' contradicts an earlier row of the same size; name the "
        "column of times with --time",
    )
    NO_SCIKIT_LEARN = (
        544,
        ERROR,
        "the published procedure needs scikit-learn; run: pip install 'cutune[neighbours]'",
    )
    BAD_TABLE_OPTION = (545, ERROR, "{reason}")

    OUTPUT_DIFFERS = (
        430,
        ERROR,
        "the results of '{command}' differ from the original's: {reason}",
    )
    ORIGINAL_FAILED = (433, ERROR, "the original itself fails: '{command}' ends with {reason}")
    NOTHING_COMPARED = (
        434,
        ERROR,
        "nothing was compared: everything that '{command}' writes varies from run to run; use "
        "--tolerance, --ignore or --file",
    )
    VARYING_LENGTH = (
        435,
        ERROR,
        "{name} of '{command}' has {first} lines in one run and {second} in another, so it cannot"
        " be compared; leave out lines with --ignore REGEX, or use --file",
    )
    LEFT_OUT = (
        436,
        NOTE,
        "not compared, because it varies between runs of '{command}' itself: {what}",
    )
    ONLY_STATUS = (
        437,
        WARNING,
        "only the exit status was compared: '{command}' writes no line that can be compared; use "
        "--file FILE",
    )
    NOT_SHAKEN = (
        438,
        WARNING,
        "no launch of '{command}' was given another execution configuration in these runs; "
        "nothing was tried",
    )
    SHAKEN_NOT_COMPILED = (
        439,
        ERROR,
        "the program with changed launches does not compile, but the original does: {reason}",
    )
    NVCC_FAILED = (701, ERROR, "nvcc failed with status {status}: {command}")
    COMPILER_KILLED = (
        714,
        ERROR,
        "'{program}' was ended by {signal}, which says nothing of the program; call cutune again",
    )
    NOT_PREPROCESSED = (
        703,
        WARNING,
        "nvcc cannot read the file ({reason}), so macros are expanded by their text alone; give "
        "the options that it compiles with (-I, -D, -std)",
    )
    NOT_CONFIRMED = (
        709,
        WARNING,
        "nvcc cannot compile the file ({reason}), so launches are judged by their source text "
        "alone; mend it, or give the options that it is compiled with, as for nvcc",
    )
    NOT_REWRITTEN = (
        704,
        WARNING,
        "'{path}' was compiled as it is, because its rewritten form does not compile: {reason}",
    )
    FAILED_REWRITING = (705, WARNING, "compiled as it is, because cutune itself failed: {reason}")
    BUILD_COMMAND_FAILED = (706, ERROR, "the build failed with status {status}: {command}")
    CLEAN_COMMAND_FAILED = (
        710,
        NOTE,
        "'{command}' ended with status {status}; the build goes on, there may be nothing to clean",
    )
    NOTHING_COMPILED = (
        707,
        ERROR,
        "'{command}' compiled no launch through cutune; {advice}",
    )
    NO_LAUNCH_COMPILED = (
        713,
        ERROR,
        "'{command}' compiled {sources} through cutune, which hold no launch '<<<…>>>'; those that "
        "libraries make (Thrust, CUB), or cudaLaunchKernel, cannot be tuned",
    )
    KNOWN_REMEDY = (716, NOTE, "{remedy}; try: export NVCC_APPEND_FLAGS={flag}")
    LINKED_UNTUNED = (
        715,
        NOTE,
        "nothing of '{name}' was tuned yet, so its launches stay as they are; tune it once: cutune "
        "tune --make 'make' --clean 'make clean' --run '{run} …' (cutune help projects)",
    )
    FRONT_END_FAILED = (
        708,
        WARNING,
        "nvcc's front end did not say which kernels are launched: {reason}",
    )
    EXECUTED_WORD = (
        712,
        ERROR,
        "nvcc would execute a part of {word!r} as a command; name the file, the folder or the "
        'value without ` $( " and line ends',
    )
    ENDLESS_TEXT = (
        711,
        ERROR,
        "the preprocessed text of '{path}' is not complete after {seconds} s or {megabytes} MB: do "
        "its macros grow without end?",
    )
    # Parameters and trials.
    BAD_VALUES = (
        800,
        ERROR,
        "'{name}' needs values, each given once and in rising order if it is a range: {reason}",
    )
    BAD_CHOICE_OPTION = (
        801,
        ERROR,
        "'{text}' gives no values to a parameter; write it as --tune 'R=none,20,40', 'W=1..8', or "
        "'W=32..256:32'",
    )
    PARAMETER_TWICE = (802, ERROR, "parameter '{name}' is given twice; name it once")
    UNKNOWN_IN_SPACE = (
        803,
        ERROR,
        "the condition '{condition}' holds '{name}', which is no parameter and no size; known: "
        "{known}",
    )
    NOTHING_ALLOWED = (
        804,
        ERROR,
        "no configuration satisfies '{conditions}'; change a condition, or add values",
    )
    SPACE_TOO_LARGE = (
        805,
        ERROR,
        "more combinations of {names} are allowed than fit into 2 GiB; give fewer values: --tune "
        "'NAME=1,2,4'",
    )
    NOT_T1 = (
        806,
        ERROR,
        "'{path}' describes no space of parameters in the T1 format: {reason}",
    )
    BAD_EXPRESSION = (
        807,
        ERROR,
        "'{text}' is no expression of parameters: {reason}; write numbers, names, lists, "
        "comparisons, and, or, not",
    )
    NOWHERE = (
        808,
        ERROR,
        "parameter '{name}' stands nowhere; write #pragma cutune tune({name}: …) before its "
        "#define, constexpr or int, or {{{name}}} in --nvcc-flag, --make or --run{further}",
    )
    SEVERAL_PLACES = (
        809,
        ERROR,
        "parameter '{name}' stands in several places; leave it in one: a pragma, --nvcc-flag, "
        "--make or --run",
    )
    UNGUARDED_CONSTANT = (
        810,
        ERROR,
        "'{name}' cannot be set from outside of '{path}'; write #ifndef {name} before its #define "
        "and #endif behind it, or emit without --as",
    )
    CHOSEN_NOWHERE = (
        811,
        WARNING,
        "{name} = {value} was chosen; give it where {{{name}}} stood for cutune collect, and to "
        "emit the same --nvcc-flag, --make and --tune",
    )
    LAUNCHES_STAY = (
        812,
        WARNING,
        "launches keep their thread blocks: they were proven with {name} = {own}, not {value}",
    )
    HOST_CHOICES_LEFT_OUT = (
        813,
        WARNING,
        "'{name}' is chosen by sizes at run time, which only the emitted program can do; it is "
        "left out",
    )
    HELD_BY_CONDITION = (
        814,
        WARNING,
        "'{name}' keeps its own value: it is compiled in, and the condition '{condition}' depends "
        "on the size of a run; change the condition so that it holds at all sizes",
    )
    BAD_BUDGET = (
        815,
        ERROR,
        "'{text}' is no budget of a search; write configurations (200), a time (30s, 10min, 2h) or "
        "a part of all that are allowed (5%), above zero and at most 100%",
    )
    UNKNOWN_TECHNIQUE = (816, ERROR, "no technique of search is named '{name}'; known: {known}")
    TECHNIQUE_NEEDS = (
        817,
        ERROR,
        "the technique '{name}' is that of {package}; run: pip install 'cutune[search]'",
    )
    WRONG_RESULT = (
        818,
        WARNING,
        "{count} runs wrote something else than the program does in its own configuration and are "
        "left out, the first with {reason}; where that is no result, leave it out: --ignore REGEX, "
        "or allow for it: --tolerance X",
    )
    OWN_FAILS = (
        819,
        WARNING,
        "at {count} sizes results are compared with nothing: the program fails in its own "
        "configuration: {reason}",
    )
    NOT_ALL_TRIED = (
        820,
        ERROR,
        "techniques are compared where every configuration was tried, which is nowhere so (most "
        "{where}: {count} of {size}); run: cutune collect --tunables --on gpu without --search",
    )
    BAD_RESULTS = (
        821,
        ERROR,
        "this is no {kind}: {reason}; correct it here, or say what the file is: --from NAME",
    )
    UNKNOWN_FORMAT = (
        822,
        ERROR,
        "it is not clear in which format of results '{path}' is; name one: {option}",
    )
    SEVERAL_SIZES = (
        823,
        ERROR,
        "a {kind} belongs to one device and problem size, and here are {devices} and {sizes}; take "
        "one of each: {example}",
    )
    NO_PLACE = (824, NOTE, "a {kind} has no place for: {what}")
    ALREADY_THERE = (
        825,
        ERROR,
        "'{path}' is there already; name another file, or replace it: --force",
    )
    NOT_HELD = (
        826,
        ERROR,
        "a {kind} cannot hold these results: {reason}; write another format: --to t4",
    )
    NO_RESULTS = (
        827,
        ERROR,
        "'{path}' has no such results; name what it has with --only NAME=VALUE: {known}",
    )
    UNKNOWN_TUNER = (828, ERROR, "no tuner that is compared is named '{name}'; known: {known}")
    TUNERS_MISSING = (
        829,
        NOTE,
        "not compared, because it is not installed: {names}; run: pip install {packages}",
    )
    NO_SUCH_TECHNIQUE = (
        830,
        NOTE,
        "{tuner} is compared with its own {default}, because it has no technique '{name}'; it has: "
        "{known}",
    )
    NOT_WHOLE = (
        831,
        ERROR,
        "searches are compared on tables of all configurations: {reason}; leave --space out, and "
        "the space is what was recorded, or take a part: --only NAME=VALUE",
    )
    NO_BENCHMARK = (832, ERROR, "no {kind} is named '{name}' in '{folder}'; known: {known}")
    EXAMPLE_FAILED = (
        833,
        ERROR,
        "'{command}' failed in '{folder}': {reason}; correct it, or leave it out with -a and -b",
    )
    TUNER_FAILED = (
        834,
        ERROR,
        "{tuner} failed in its own search ({reason}); take another technique with -t, or leave it "
        "out: -a {others}",
    )
    ONE_VALUE = (
        835,
        NOTE,
        "'{name}' gets one value for all sizes: {reason}; {remedy}",
    )
    COPY_LEFT_OUT = (
        836,
        WARNING,
        "{values} is left out: {reason}; sizes for which it was chosen run the program's own "
        "values, cutune emit --as flags gives one set for all",
    )
    EXECUTOR_NEEDS = (
        837,
        ERROR,
        "--executor {name} is that of {package}; run: pip install 'cutune[cluster]'",
    )
    NO_SUCH_GPU = (
        838,
        ERROR,
        "--gpus names GPU {number}, and there is none of that number; there are: {known}",
    )
    NO_WORKER_LEFT = (
        839,
        ERROR,
        "no worker is left to run trials (the last: {reason}); what has ended is kept: once there "
        "are workers, the same command goes on",
    )
    DIFFERENT_GPUS = (
        840,
        ERROR,
        "the workers have different GPUs ({names}), whose times cannot be compared; let all have "
        "the same kind, here by --gpus 0,1",
    )
    WORKER_LOST = (
        841,
        WARNING,
        "a worker was lost ({name}); another takes its place, and its trial is tried once more",
    )
    ONE_AT_A_TIME = (
        842,
        WARNING,
        "the technique '{name}' asks for one configuration at a time, so that one of {count} "
        "workers is at work; those that use all are: {known}",
    )
    FEWER_WORKERS = (
        846,
        WARNING,
        "no worker comes in place of one that was lost ({reason}); {count} are left",
    )
    WORKER_WITHOUT = (
        843,
        ERROR,
        "the worker {name} has no cutune, or another version of it ({reason}); install this one "
        "where the worker runs",
    )
    NO_SCHEDULER = (
        844,
        ERROR,
        "no scheduler of dask answers at '{address}' ({reason}); start one: dask scheduler",
    )
    NO_SLURM = (
        845,
        ERROR,
        "Slurm takes no job ({reason}); give what it asks for as --sbatch=--partition=NAME",
    )
    LARGE_PROJECT = (
        847,
        ERROR,
        "'{folder}', which is copied for each build, holds {what}; call cutune in the folder of "
        "the project itself",
    )
    OUTSIDE_PROJECT = (
        848,
        ERROR,
        "'{path}' does not lie below '{folder}', which is copied for each build; call cutune in a "
        "folder above both: --make 'make -C DIR'",
    )
    COPY_NOT_BUILT = (
        849,
        ERROR,
        "'{command}' fails in a copy of '{folder}': {reason}; all of it is in '{log}'. {advice}",
    )
    NOT_IN_BUILD = (
        850,
        ERROR,
        "'{command}' makes no {what} in the copy '{copy}'; there it has to compile the source by a "
        "relative path and to write the program, which --run starts as './app'",
    )
    TUNED_NOT_BUILT = (
        851,
        WARNING,
        "the project does not build with the tuned files in it, in '{copy}': {reason}; where other "
        "sources include a header with host integers or regions, move these into the source",
    )
    UNUSABLE_NVCC = (702, ERROR, "'{path}' is not a usable nvcc: {reason}")

    def __init__(self, index: int, severity: str, template: str) -> None:
        #: As it is printed, for instance `CT201`.
        self.number = f"CT{index:03d}"
        #: error, warning or note.
        self.severity = severity
        #: The message with named holes.
        self.template = template
