"""The reference of diagnostics. Takes the table of codes, gives `docs/diagnostics.md`, and what
`docs/guide/refused.md` beside it says by code.

    python -m cutune.core.reference docs/diagnostics.md

This module says what each code means and what to do about it; `codes` holds its message.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from cutune.core.codes import Code

#: First digit of a code → heading; the docstring of `diagnostics` lists the same groups.
GROUPS = {
    0: "Files and options",
    1: "Syntax",
    2: "Program: why a launch stays as it is",
    3: "Passes and edits",
    4: "Measuring and the emulated device",
    5: "Fitting and models",
    6: "Emitting",
    7: "nvcc",
    8: "Parameters and trials",
}

#: Code → what it means and what to do.
MEANINGS: dict[Code, str] = {
    Code.NO_CONSTANT_VALUE: "The value of a macro or a constant is replaced where it is written.",
    Code.CONSTANT_TWICE: "With several definitions it would not be known which one is in force.",
    Code.BAD_VALUES: "A parameter is something that has a choice. Values are integers (`4, 8`), "
    "ranges (`1..10`) and words (`none`). An option may leave out values of a pragma, not add any.",
    Code.BAD_CHOICE_OPTION: "The name is that of a parameter in the source, or stands in braces in "
    "`--nvcc-flag`, `--make` or `--run`.",
    Code.PARAMETER_TWICE: "Each parameter has one list of values.",
    Code.UNKNOWN_IN_SPACE: "A condition may speak of parameters, of sizes (names of `--vary` and "
    "`data(…)`), of `device.shared`, `device.threads` and `device.count`, and compare a parameter "
    "with one of its words.",
    Code.NOTHING_ALLOWED: "The conditions that are named contradict each other, or the values.",
    Code.SPACE_TOO_LARGE: "Parameters that conditions connect are kept as a table of what is "
    "allowed, and it grows beyond memory.",
    Code.NOT_T1: "T1 is the JSON format in which tuners exchange spaces: "
    "`ConfigurationSpace.TuningParameters` with `Name` and `Values`, and `Conditions` with an "
    "`Expression` each. `cutune inspect app.cu --space FILE` writes it.",
    Code.BAD_EXPRESSION: "Expressions of a T1 file are read, never run: lists, `range`, "
    "comprehensions, arithmetic, comparisons and the functions that the message names.",
    Code.NOWHERE: "Where the name of a parameter stands says how it is set.",
    Code.SEVERAL_PLACES: "It would not be known how the parameter is set.",
    Code.UNGUARDED_CONSTANT: "A value that the source gives in any case cannot be given from "
    "outside. Without `--as` the program is written with the chosen values in it.",
    Code.CHOSEN_NOWHERE: "The value belongs to an option of nvcc or to the program's command line.",
    Code.LAUNCHES_STAY: "With another value the kernels are other code. Where no host integer is "
    "chosen at run time, the emitted program can be tuned like any other.",
    Code.HELD_BY_CONDITION: "A compiled value holds at every size, also at those where the "
    "condition forbids it and nothing was tried.",
    Code.ONE_VALUE: "A tuned program may hold several values of a macro or constant only where all "
    "that depends on it is known to mean the same in a copy, and is called through one function.",
    Code.COPY_LEFT_OUT: "What the compiler makes of a copy must be what it makes of a program that "
    "has these values alone.",
    Code.BAD_BUDGET: "A search counts configurations that ran, each once; a time is that of all "
    "sizes together.",
    Code.UNKNOWN_TECHNIQUE: "Names of other tuners are understood where the technique is the same.",
    Code.EXECUTOR_NEEDS: "`--executor local` needs nothing more: a worker per GPU of this machine.",
    Code.NO_SUCH_GPU: "GPUs have the numbers that `nvidia-smi -L` shows, from 0 on.",
    Code.NO_WORKER_LEFT: "A worker is replaced when it is lost, but not where one after the other "
    "is: the GPU may be gone, or the machine. Of dask, workers that run elsewhere are waited for "
    "for a minute.",
    Code.DIFFERENT_GPUS: "What is fastest on one kind of GPU need not be so on another. Each kind "
    "is measured by a search of its own.",
    Code.WORKER_LOST: "What ended it may have been the trial that it ran. A trial in which two are "
    "lost is left out (`quarantine`).",
    Code.LARGE_PROJECT: "Each set of compiled values is built in a copy of the current folder.",
    Code.OUTSIDE_PROJECT: "A build of a copy compiles files of that copy alone.",
    Code.COPY_NOT_BUILT: "The first build has the project's own values. A build that names other "
    "folders by `../` finds them only if they are copied with it; folders in which CMake was "
    "configured are not copied, so that configuring belongs to the command: "
    "`--make 'cmake -S . -B build && cmake --build build'`.",
    Code.NOT_IN_BUILD: "A build that names its sources by absolute paths compiles the original, "
    "without the hooks by which regions are timed.",
    Code.TUNED_NOT_BUILT: "`tune --tunables --make` ends with a build of the project in which the "
    "emitted files stand in place of the originals. They are written in any case.",
    Code.WORKER_WITHOUT: "Workers of dask run cutune's own code, and see the same files as the "
    "machine where cutune is called.",
    Code.NO_SCHEDULER: "The address is that which `dask scheduler` shows, as `tcp://host:8786`.",
    Code.NO_SLURM: "The message of `sbatch` is quoted. Without `sbatch`, call cutune where jobs "
    "are submitted, or take `--executor local` within a job.",
    Code.FEWER_WORKERS: "The search goes on with those that are left.",
    Code.ONE_AT_A_TIME: "What a technique asks for next depends on the time of what it asked for "
    "before. Where all configurations are run, all workers are at work.",
    Code.TECHNIQUE_NEEDS: "cutune's own technique, `local`, and those of scipy need nothing more.",
    Code.WRONG_RESULT: "The fastest configuration may be one that computes nothing. Not compared "
    "are numbers beside units and words of time, those that vary from run to run, and values of "
    "parameters that the program prints.",
    Code.BAD_RESULTS: "A file of another tuner, or of cutune, is damaged or in another format. "
    "Nothing of it is used, and nothing in it is ever run. The place is that of the first entry "
    "that is wrong.",
    Code.UNKNOWN_FORMAT: "Files are told by what they begin with, those that are to be written by "
    "how their names end: `.jsonl` (trials), `.t4.json`, `.cache.json` (Kernel Tuner), `.wisdom`, "
    "`.csv`.",
    Code.SEVERAL_SIZES: "Kernel Tuner goes on in a cache only where device and size are the "
    "same, so that each of them needs a file of its own.",
    Code.NO_PLACE: "What was written was read again and compared. The rest is all there.",
    Code.ALREADY_THERE: "A file is replaced only where that is asked for.",
    Code.NOT_HELD: "The T4 format, with the members that cutune adds, holds everything that is "
    "known of a result.",
    Code.NO_RESULTS: "Nothing is written where no results are left.",
    Code.UNKNOWN_TUNER: "`cutune bat -a` takes cutune, kernel_tuner, opentuner, pyatf and optuna, "
    "with commas between.",
    Code.TUNERS_MISSING: "No other tuner is needed; those that are installed are compared.",
    Code.NO_SUCH_TECHNIQUE: "Tuners have different techniques, and different names for them.",
    Code.NOT_WHOLE: "How good a search is follows from the best of all, and from what random "
    "search finds: both take every configuration. Configurations that failed count, too.",
    Code.NO_BENCHMARK: "A benchmark is a source in the folder, or, with `--examples`, a folder "
    "TUNER/BENCHMARK with a `config.json`.",
    Code.EXAMPLE_FAILED: "The commands of a `config.json` run one after the other in its folder, "
    "their words split at blanks, without a shell.",
    Code.TUNER_FAILED: "Other tuners run as they are installed; what they raise is passed on.",
    Code.NOT_ALL_TRIED: "A technique may ask for any configuration, and what it finds is compared "
    "with the best of all.",
    Code.OWN_FAILS: "A configuration that ends well is then taken to be right.",
    Code.HOST_CHOICES_LEFT_OUT: "Headers and options hold one value for all sizes.",
    Code.NOTHING_CHANGED: "Sources, headers, options, variables, the compiler, cutune and what the "
    "program was measured with are what they were, and the program reads nothing else.",
    Code.CONTRADICTION: "The source says one thing and the compiled code another: a parameter is "
    "changed through a reference, or an operator asks for its thread. The compiled code is "
    "right. Write the kernel so that both agree, for instance with a copy of the parameter.",
    Code.NOT_COMPILED: "The compiler made no code of the kernel: it is a template that nobody "
    "calls with known arguments, or an `#if` leaves it out.",
    Code.UNPROVEN_CODE: "The compiled code does something that is not known to be the same with "
    "another block. The message says what; docs/soundness.md says what is proven.",
    Code.VARIANT_MEMORY: "A variant is a copy of the kernel that is launched in its place where "
    "that is faster. `restrict` says that nothing is reached by two pointers. That is only known "
    "where each access goes through one pointer parameter. Write `A[i]` with parameters that are "
    "pointers; pass members of structures as parameters. docs/variants.md says more.",
    Code.VARIANT_TEXT: "The copy of the kernel is made of its text. Write the kernel out instead "
    "of making it by a macro, and its pointers as `float *A`.",
    Code.VARIANT_USELESS: "The variant would gain nothing: the compiler knows already what "
    "it would tell, or a thread would do the same work in the same order.",
    Code.VARIANT_HEADER: "A variant stands behind its kernel. A header in which no launch is tuned "
    "stays as it is, so that a tuned program is one file; in projects it need not.",
    Code.VARIANT_CALLEE: "The copy that is launched has to be that of the kernel which the "
    "arguments choose. cutune names both by the type that they choose, and asks the compiler "
    "whether it is so. It is not where arguments are left out, where a using-declaration or the "
    "namespace of an argument brings the name in, where the launch stands above the kernel, or "
    "beside another launch of the name on one line. The thread block is chosen as before.",
    Code.VARIANT_ELSEWHERE: "A variant is known in the source of its kernel alone, so that no "
    "object relies on how another one was compiled.",
    Code.VARIANT_ORDER: "With a variant the compiler may keep values in registers, and a thread "
    "then sees later, or never, what another one writes. Nothing helps where that is meant.",
    Code.VARIANT_UNPROVEN: "The copy was compiled to see whether it may be launched wherever the "
    "kernel may. The kernel itself is tuned as before. Where the copy does not compile, the kernel "
    "may be launched above its definition: define it first. Where it may round otherwise, "
    "say what is rounded (`fmaf(a, b, __fmul_rn(c, d))`), or compile with `-fmad=false`.",
    Code.NOT_CONFIRMED: "The source text says which launches are tunable, until the compiler "
    "confirms it. Give cutune the options that the file is compiled with.",
    Code.WRONG_USAGE: "Words or values are missing, or do not go together. Nothing was done; the "
    "status is 2.",
    Code.UNKNOWN_VERB: "The first word says what to do. `cutune --help` lists the verbs.",
    Code.UNKNOWN_OPTION: "Verbs that compile take the options of nvcc as they are, so that a "
    "compile command can be pasted. One that is in neither list may be one of a newer nvcc "
    "(`--nvcc-flag=-x`), or of the host's compiler (`-Xcompiler=-x`).",
    Code.UNKNOWN_VALUE: "The option takes one of the values that the message lists.",
    Code.UNKNOWN_TOPIC: "A topic is the name of a page of the guide, of a verb, or a code.",
    Code.NO_SOURCE_THERE: "A folder is searched for `*.cu`, a compile_commands.json for commands "
    "that compile CUDA. Name the sources themselves where they are called otherwise.",
    Code.REQUIRED_NOT_TUNABLE: "The status is 3. A launch counts as tunable where the compiler has "
    "confirmed it and a model can be made.",
    Code.NOTHING_REQUIRED: "A pattern of `--require` that no launch matches holds nothing: the "
    "status is 3. It may have `*` and `?`, and is compared with names of kernels.",
    Code.UNREADABLE_FILE: "The file is missing or may not be read. Check the path.",
    Code.UNWRITABLE_FILE: "The result cannot be written there. Choose another `-o` or "
    "`--workspace`.",
    Code.MISSING_NVCC: "cutune needs nvcc to compile; `cutune inspect` works without it.",
    Code.OUTPUT_IS_INPUT: "cutune never replaces the program that it reads. Give `-o` "
    "another name.",
    Code.DAMAGED_FILE: "Entries are missing or have another form. Make the file anew.",
    Code.NEEDS_FOLDER: "A header that holds launches or host tunables cannot be part of one "
    "output file. With a folder as output, the source and its headers are written there in the "
    "same relative places. Compile there with the same options.",
    Code.ALREADY_TUNED: "The file holds the hooks or the selection routines of cutune already.",
    Code.NOT_REPLAYED: "Launches of this kernel at other sizes end in an error on the emulated "
    "device. The reason is quoted; the other kernels are tuned.",
    Code.IMPOSSIBLE_GRID: "A launch has at least one thread in each dimension, and at most "
    "2147483647 x 65535 x 65535 blocks.",
    Code.AMBIGUOUS_KERNEL: "The workspace holds models of several sources, or of several instances "
    "of a template.",
    Code.UNSUITED_MODEL: "Predicted and measured times rank the thread blocks of a launch "
    "differently: the time depends on something that the model does not know. `cutune evaluate` "
    "shows how much that costs.",
    Code.NOTHING_TO_JUDGE: "A sweep names programs by their files, without folder and ending. Name "
    "the sources that were swept, and a `--train` below the largest size.",
    Code.STALE_MODELS: "The models describe the program that was measured, and the source has "
    "changed since.",
    Code.UNKNOWN_DEVICE: "`--device` names a profile that cutune does not have. Take one of those "
    "listed.",
    Code.UNKNOWN_SCHEMA: "The file is of another kind, or was written by a newer cutune. Give "
    "the right file, or update cutune.",
    Code.TORN_LINE: "A run was interrupted while it wrote. The line is left out; run `cutune "
    "collect` again to measure it anew.",
    Code.MISSING_COMPILER: "The emulated device is compiled once on this machine, which needs a "
    "C++ compiler.",
    Code.NO_PYCUDA: "Only `cutune device --calibrate` needs pycuda. Everything else works "
    "without it.",
    Code.NO_GPU: "The driver finds no GPU, or not the one that `--gpu` names. A profile that is "
    "shipped, or was made on another machine, needs none.",
    Code.GPU_FAILED: "A micro-kernel was not compiled or not launched. Does the compiler know this "
    "GPU, and is its memory free (3 GiB are needed)?",
    Code.NO_REPORT_EXTRA: "`cutune report` writes its page with jinja2, and `--figures` draws with "
    "matplotlib. All other verbs work without them.",
    Code.BAD_SIZE: "A value on the command line has the wrong form.",
    Code.MISSING_STAGE: "A command needs what an earlier one writes. Run that one first, or "
    "`cutune tune`, which runs all.",
    Code.UNBALANCED: "A bracket has no partner, so functions cannot be found. Does nvcc accept "
    "the file?",
    Code.NOT_CUDA: "The file is empty, holds bytes that no source file holds, or has no "
    "declaration and no directive.",
    Code.BAD_ANNOTATION: "The pragma is not in cutune's language and has no effect. The message "
    "names the first word that does not fit.",
    Code.HOST_ONLY: "A source with host code alone has nothing to tune. It may be given with the "
    "others and comes back byte for byte.",
    Code.MISSING_KERNEL: "A kernel that is not read cannot be proven. Give all sources of the "
    "program, as in `cutune inspect main.cu kernel.cu`, and `-I` where a header is not found. "
    "From another source a kernel counts only if it is the one definition that all others link "
    "with: not a static one, and not a template. A `weak` definition may be replaced by that of "
    "another source, and counts for none.",
    Code.UNCERTAIN_ADDRESS: "The address of a kernel that another source defines must be "
    "certain: with it the tuned program asks for which architecture the kernel was compiled. "
    "Overloads, omitted arguments and reference parameters make it uncertain.",
    Code.DEVICE_LAUNCH: "Launches from kernels are not rewritten: the choice is made on the host.",
    Code.DIRECTIVE_IN_LAUNCH: "The directive decides which text is compiled. Write one launch "
    "per branch of the `#if`.",
    Code.LAUNCH_IN_MACRO: "A rewritten macro would change every use of it. Write the launch out "
    "where the macro is used. Where it launches one kernel, make it a function that names the "
    "kernel; one that gets the kernel as an argument is refused, too.",
    Code.KERNEL_ARGUMENT: "A function or template that gets the kernel as an argument launches "
    "another one at each call: what is proven, and the model, belong to one kernel. Write "
    "`kernel<<<grid, block>>>(…)` in place of each call of `launch(kernel, grid, block, …)`.",
    Code.NOT_A_STATEMENT: "A rewritten launch is a statement, which cannot stand in an expression "
    "or behind `return`.",
    Code.HIDDEN_CONFIGURATION: "A macro stands for several of the arguments, so that it is not "
    "seen which is which. Use a macro or a variable for each.",
    Code.SIDE_EFFECT: "Overloads, default arguments and deduced template parameters let the "
    "arguments choose the kernel. The rewritten launch then stands twice, with its arguments, "
    "and a side effect would happen twice. Store the value in a variable of a built-in type, or "
    "write the kernel's template arguments out. `__COUNTER__` counts as one, and so does "
    "`__LINE__` on a line further down.",
    Code.LAUNCHED_BY_CALL: "Launches with triple angle brackets are rewritten, those by a function "
    "of CUDA's runtime are not: their configuration lies in a structure, with attributes that "
    "may ask for this very block.",
    Code.HIDDEN_LAUNCH: "A macro may use its argument twice, print it, or split it at its "
    "commas. After `#line` it is not certain what is compiled.",
    Code.UNCOMPILED_LAUNCH: "Its kernel is not compiled either, perhaps. Nothing is lost where the "
    "program is built with the options that cutune was given.",
    Code.EARLY_HEADER: "The selection code is inserted before the first line of the source. A "
    "header that nvcc reads even earlier cannot see it.",
    Code.IGNORED: "The source asks for it. Remove the pragma to have the launch tuned.",
    Code.INDIRECT_LAUNCH: "A pointer or a variable does not say for certain which kernel runs.",
    Code.OTHER_KERNEL: "A macro, a parameter, a member or a variable has the name of a kernel, "
    "or overload resolution chose another kernel than the one analysed. Give them different "
    "names.",
    Code.UNRESOLVED_LAUNCH: "The compiler is asked which function each launch calls, and its "
    "answer is matched by line. Write the launch as a statement on a line of its own, outside of "
    "macro arguments, in a file without `#line`. A launch in a template that is never "
    "instantiated calls nothing.",
    Code.DIFFERING_KERNELS: "Overloads or branches of an `#if` share the name, and what is "
    "proven for one is not proven for the others. Give them different names.",
    Code.SHARED_MEMORY: "A tile of shared memory usually has the shape of the thread block. Some "
    "uses are proven: rows through which a block steps by `blockDim.x`, tables that each block "
    "fills alike, sums of integers that it adds up by atomic operations. Otherwise, if the kernel "
    "gives the same results with any thread block, say so by `#pragma cutune kernel` (`cutune "
    "inspect --suggest`).",
    Code.BARRIER: "The threads of a thread block work together. If any thread block gives the "
    "same results, say so by `#pragma cutune kernel`.",
    Code.WARP_LEVEL: "The shape of the thread block decides which threads form a warp. An "
    "annotation, for instance `block(x: 64, 128, 256)`, asserts that results stay the same as "
    "long as a warp is 32 neighbours in x, or the same whole rows. Only such thread blocks are "
    "then used.",
    Code.COOPERATIVE: "Groups of threads depend on the thread block or the grid.",
    Code.ASSEMBLY: "Use CUDA's built-in functions instead of `asm` where there is one.",
    Code.ATOMIC_RESULT: "The value that an atomic operation returns depends on which thread came "
    "first. Atomic operations whose result is not used are allowed.",
    Code.BLOCK_DEPENDENT: "The value of this expression depends on the thread block. Compute the "
    "global id in one expression, or annotate the kernel if its results do not depend on the "
    "expression.",
    Code.UNKNOWN_FUNCTION: "A function whose body is not seen may do anything. Define it in this "
    "file or in a header, or give `-I`; other sources are not read for it (`-rdc=true`).",
    Code.NOT_PROVEN: "The analysis does not know the construct, so the launch is left alone. "
    "Write it more plainly.",
    Code.UNRESOLVED_NAME: "Without nvcc, only macros of the file and its headers are known.",
    Code.NO_INDEX: "All threads do the same, or the index was not recognised. Then there is "
    "nothing to choose.",
    Code.ORDERING: "The result may depend on which threads run at the same time. The only remedy "
    "is to write the kernel without it.",
    Code.CONDITIONAL_CODE: "Without nvcc it is not known which branch of the `#if` is compiled.",
    Code.KERNEL_REASON: "Points to the place in the kernel that another message speaks of.",
    Code.REDUNDANT_THREADS: "A block is wider than 1 in a dimension that the kernel does not use: "
    "all those threads write the same elements. Launch it with 1 in that dimension.",
    Code.REDUNDANT_BLOCKS: "The grid is larger than 1 in a dimension that the kernel does not use: "
    "all those blocks write the same elements. Launch it with 1 in that dimension.",
    Code.UNKNOWN_ANNOTATED_KERNEL: "Write the kernel's name without namespace and template "
    "arguments.",
    Code.UNKNOWN_PARAMETER: "`data` and `grid` speak of the kernel's own parameters, not of the "
    "host's variables.",
    Code.MEMBER_PARAMETER: "A launch shows the integers that a kernel reads from a plain "
    "structure passed by value, such as `grid.nx`. It does not show others (behind a pointer, in "
    "a union, an array or a bit-field, private ones), nor those of a structure that is used as a "
    "whole.",
    Code.EMPTY_CANDIDATES: "`block` and `where` leave nothing to choose from. A range takes powers "
    "of two (in one dimension multiples of 32); a list names the sizes themselves.",
    Code.UNKNOWN_GRID_FORMULA: "`ceil(g / x)` says that threads from g on have no effect; `g / "
    "x` that the number of threads stays; `keep` that the number of thread blocks stays and the "
    "result does not depend on how many threads each has. Other grids are not supported. A "
    "dimension that `block` does not name keeps its block and grid; there a number, for instance "
    "1, is allowed.",
    Code.NO_ANNOTATED_DIMENSION: "The kernel is not proven to be independent of its thread "
    "block, and the annotation does not assert it for any dimension.",
    Code.UNINDEXED_DIMENSION: "More threads in that dimension would all do the same work.",
    Code.DYNAMIC_SHARED_MEMORY: "Otherwise the annotated kernel would get the memory that the "
    "program's own thread block needs, whichever is chosen. Write for instance `shared(4 * x * "
    "y)`, or compute the argument of the launch from the variables that define its block; write "
    "`shared(keep)` where it is right for all, as that of a table is.",
    Code.UNKNOWN_SHARED_FORMULA: "The formula is computed at each launch for the chosen thread "
    "block. A launch stays as it is where the formula, for the program's own thread block, "
    "differs from what the launch asks for.",
    Code.USELESS_ANNOTATION: "An annotation can assert that shared memory, barriers, warp-level "
    "code and built-ins are harmless. What the message names must be removed from the kernel.",
    Code.WARPS_NOT_KEPT: "Warp-level code is taken to be independent of the thread block only "
    "where each warp keeps its threads: 32 neighbours in x, or the same whole rows.",
    Code.UNKNOWN_CONDITION: "The candidates are the same for all sizes of the data, so a "
    "condition cannot name sizes.",
    Code.STATIC_CUDART: "A program with the runtime linked in cannot be redirected to the "
    "emulated device. Build it with the flags named.",
    Code.NOT_RUN: "The operating system could not start the program.",
    Code.NO_LAUNCHES: "Did it stop before its first kernel? Check its arguments and input files.",
    Code.OTHER_CUDART: "The program and the emulated device must have the same CUDA version.",
    Code.BUILD_FAILED: "The compiler's own message follows. Another one can be named in `CXX`.",
    Code.UNSUPPORTED_PTX: "The kernel holds an instruction that the emulated device lacks. Its "
    "launches can only be measured on a GPU.",
    Code.UNKNOWN_KERNEL: "The recorded launch does not belong to the compiled module. Collect "
    "again.",
    Code.BAD_LAUNCH: "A GPU would refuse this launch too; the reason says which limit it breaks.",
    Code.OUT_OF_BOUNDS: "The program reads or writes outside of its arrays. The thread named is "
    "the first that did; compare its indices with the size of the allocation.",
    Code.MISALIGNED: "The address is not a multiple of the size of what is accessed.",
    Code.USE_AFTER_FREE: "`cudaFree` was called before the kernel used the memory.",
    Code.UNWRITTEN_SHARED: "The content of shared memory is undefined when a thread block "
    "begins. The emulated device gives zeros, a GPU does not.",
    Code.UNWRITTEN_GLOBAL: "The content of memory from `cudaMalloc` is undefined. Fill it by a "
    "copy, by `cudaMemset` or by a kernel. The emulated device gives zeros, a GPU does not.",
    Code.SHARED_RACE: "The order of the two accesses is undefined. Put `__syncthreads()` between "
    "them, or use atomics.",
    Code.GLOBAL_RACE: "The order of the two accesses is undefined. Put `__syncthreads()` between "
    "them, or use atomics. A thread block with more dimensions than the kernel indexes repeats "
    "its work in several threads, which is such a race.",
    Code.BLOCK_RACE: "Thread blocks run in any order. Move what needs the results of the first "
    "into a second launch, or order the accesses with `__threadfence()` and atomics.",
    Code.DIVERGED_RACE: "Since Volta, lanes of a warp that have gone different ways are not in "
    "step. Put `__syncwarp()` between the accesses.",
    Code.BARRIER_DIVERGENCE: "`__syncthreads()` under a condition that not all threads of the "
    "block share is undefined. Move it out of the condition.",
    Code.SAME_VALUE_RACE: "The result does not depend on the order. Only a note.",
    Code.EXITED_AT_BARRIER: "GPUs since Volta do not wait for threads that have ended, but CUDA "
    "does not guarantee it. Only a note.",
    Code.OTHER_PARTY: "Stands below a race and names the second access.",
    Code.ILLEGAL_ADDRESS: "The kernel reads or writes outside of its arrays.",
    Code.MISALIGNED_ADDRESS: "The address is not a multiple of the size of what is accessed.",
    Code.TRAPPED: "The kernel stopped itself by `__trap()` or an equivalent.",
    Code.FAILED_ASSERTION: "An `assert` in the kernel did not hold.",
    Code.DEADLOCK: "Threads wait for each other for ever, for instance at a barrier that some of "
    "them do not reach.",
    Code.INSTRUCTION_LIMIT: "The kernel may loop for ever, or the size is too large to emulate. "
    "Try a smaller one.",
    Code.UNSUPPORTED_AT_RUN_TIME: "The program calls something that the emulated device lacks.",
    Code.OUTPUT_DIFFERS: "`cutune verify` compares exit status, output and the files named by "
    "`--file`. Times that a program prints are left out by `--ignore 'seconds'`; another summation "
    "order of floating-point atomics needs a wider `--tolerance`.",
    Code.EDIT_CONFLICT: "Two passes change the same text. Run them one after the other.",
    Code.HIDDEN_MEMBER: "The macro would change the names in the rewritten launch.",
    Code.NO_STATIC_COUNTERS: "Registers and shared memory are not known, and occupancy is "
    "estimated.",
    Code.UNKNOWN_PASS: "`--passes` takes the names listed, separated by commas.",
    Code.BAD_RUN: "`--run` holds a name in braces that no `--vary` gives.",
    Code.RUN_FAILED: "The program's last lines follow. Run the same command by hand with `cutune "
    "run`. Where another status is no failure, as of a check that does not know small sizes, "
    "`--status` names it; `--status any` takes each.",
    Code.CUT_SHORT: "Kernels are executed for about 15 seconds. Behind that their launches are "
    "recorded, as with `--launches-only`: what a program asks for seldom depends on what its "
    "kernels computed. Kernels whose work depends on data are counted only if they were executed.",
    Code.NOT_TRIED: "Besides the proof, each candidate is run and compared, at the smallest sizes "
    "of `--vary`. With smaller sizes there would be time for that, too.",
    Code.FEWER_COUNTED: "Work that depends on data is counted while the program runs, once per "
    "candidate; what an annotation asserts is used only where it was tried. With smaller sizes "
    "there is time for all of them.",
    Code.SAMPLED: "With smaller sizes there is time for all of them.",
    Code.ONE_SIZE: "Work that depends on data is counted at the sizes of the runs alone. From one "
    "size it is taken to grow as the number of threads does. Sizes of `--vary` whose launches take "
    "too long for all candidates are left out.",
    Code.ALIKE_SIZES: "Work that depends on data is counted at the sizes of the runs alone. If two "
    "sizes are always equal, either may be the one that it grows with.",
    Code.NOTHING_LAUNCHED: "The program's last lines follow. Without a launch there is nothing to "
    "measure; run the same command by hand with `cutune run`.",
    Code.NOTHING_TUNABLE_BUILT: "Each launch follows with the rule that refuses it; `cutune "
    "inspect --suggest` says what would help.",
    Code.CLEAN_COMMAND_FAILED: "`--clean` runs before the first build, when there may be nothing "
    "to remove. If it is misspelled, the build may compile nothing (CT707).",
    Code.NOT_TIMED: "Exhaustive timing needs a GPU, a launch that `cutune inspect` calls tunable, "
    "and memory that can be saved and put back: arguments that point to arrays.",
    Code.NO_COUNTERS: "Counting on a GPU needs Nsight Compute and the right to read its counters. "
    "Without them leave `--counters` out: the emulated device counts the same.",
    Code.TUNABLE_OUTSIDE: "A host integer is chosen where it gets its value, and sizes are only "
    "known inside functions.",
    Code.NO_TUNABLE_VALUE: "The pragma belongs to the next declaration or assignment in the same "
    "block. The name may not be used in between.",
    Code.NOT_A_HOST_INTEGER: "Only local integers are chosen; a static or constant one has the "
    "same value for all sizes.",
    Code.UNKNOWN_DATA: "Sizes are evaluated where the integer gets its value.",
    Code.TUNABLE_WITHOUT_DATA: "Without sizes there would be nothing to choose by.",
    Code.TUNED_TWICE: "Measurements are kept by name. Rename one variable.",
    Code.BAD_CHOICES: "All values are measured, so a wide range takes too long.",
    Code.UNPAIRED_REGION: "A region is what lies between `#pragma cutune region begin` and `end`.",
    Code.REGION_ACROSS_BLOCKS: "Both ends must be reached, one after the other.",
    Code.REGION_IN_STATEMENT: "The pragma is replaced by a call, which needs a place where a "
    "statement may stand.",
    Code.TUNABLE_IN_HEADER: "The selection code is inserted before the first line of the source. "
    "A header that nvcc reads even earlier cannot see it.",
    Code.TUNABLE_SIDE_EFFECT: "The value is evaluated together with the sizes, and their order is "
    "not defined.",
    Code.UNKNOWN_IN_CONDITION: "The condition is evaluated when the choice is made; only what "
    "`tune` or `data` names is known then.",
    Code.NOT_REPEATED: "A region that may run again gets other values of the host integers that "
    "are declared before it. What was computed from them in between would keep the first ones. "
    "Arguments of calls are the program's own affair.",
    Code.NO_HOST_TUNABLES: "Parameters are chosen by measured times. Annotations that cannot be "
    "applied have been reported.",
    Code.NO_REGION: "Parameters are chosen by the time of a region: statements of one block of a "
    "host function, for instance launches and the copies before and behind them.",
    Code.REGIONS_NEED_GPU: "The time of a region includes copies and the work of the host. The "
    "emulated device runs the program, but not at the speed of a GPU.",
    Code.NO_RUN_ENDED_WELL: "The reason of the first failure is quoted.",
    Code.NOT_SWEPT: "`--model neighbours` chooses thread blocks by their measured times, and "
    "there are none: nothing was swept on that GPU, or the source has changed since. Without a "
    "GPU, leave `--model neighbours` out.",
    Code.NO_HOST_TIMES: "Times of an earlier version of the source are not used.",
    Code.AMBIGUOUS_REGION: "One time cannot be divided among sizes.",
    Code.BAD_SWEEP: "Every combination of the named tunables is run at every size; a search "
    "(`--search`) runs fewer, but varies each of them.",
    Code.CONFIGURATION_FAILED: "A configuration that the program refuses is not chosen at that "
    "size.",
    Code.NEVER_LAUNCHED: "Without a recorded launch there is nothing to measure. Choose `--run` "
    "such that the launch happens.",
    Code.OTHER_ENTRY: "The proof is about the kernel that the compiler named. Another one is "
    "launched where the program was changed after it was read, or where objects of another build "
    "are linked.",
    Code.MANY_INSTANCES: "A model belongs to one instance of a template, or to one overload. Where "
    "a launch runs several, as in a host template for `float` and `double`, the types of its "
    "arguments tell which model is asked. Those that differ in a number (`k<256>`), or in classes "
    "of the same size, need a launch each.",
    Code.DIFFERENT_SHARED_MEMORY: "A model has one formula of shared memory. Write `shared(…)` "
    "in the annotation of the kernel, if one formula is right for all its launches.",
    Code.DATA_DEPENDENT: "Branches or addresses depend on loaded values, or threads are compared "
    "with a size that is not seen, for instance in an array of a structure. Such a kernel is "
    "counted while the program runs. It must be executed (no `--launches-only`), at sizes at "
    "which all of its candidates can be run, and may use nothing that the emulated device does "
    "not count. Launches with equal arguments must do about the same work.",
    Code.UNSEEN_MEMBER: "A launch shows an integer in a structure argument where the kernel gets "
    "a plain copy of it (no copy constructor of the program), and where each argument is written "
    "out.",
    Code.COUNTED_ON_DATA: "Its work depends on loaded values, or could not be derived for sizes "
    "other than those of the runs. Every candidate is run on the data of the program's own "
    "launches, and totals are assumed to grow as the threads do. Choose runs that are typical: "
    "at least two sizes, data of the usual kind. The program also runs once more, with its "
    "varied numbers doubled as often as a few seconds allow; it may refuse that.",
    Code.RESULTS_DIFFER: "All candidates were tried in the program's own runs, and those named "
    "here are not used. The kernel was annotated as independent of its thread block, but is not. "
    "With the program's own thread block no race was found.",
    Code.CANDIDATES_UNTRIED: "What only an annotation asserts is used after a trial alone. A block "
    "fits a launch if it divides its number of threads, or covers the bound that `grid` names.",
    Code.OTHER_SHARED: "Write the bytes of dynamic shared memory as a formula of the block that "
    "gives what the launch asks for, such as `shared(4 * x)`; leave `shared` out where memory is "
    "static.",
    Code.RACY_ORIGINAL: "The checker found the race with the program's own thread block: threads "
    "that may run in any order access the same memory, so even the unchanged program may give "
    "other results on another GPU. `cutune run --check` says more; compile with `-lineinfo` to "
    "see the lines.",
    Code.NOTHING_MODELLED: "The earlier messages say, per kernel or launch, what prevented it "
    "and what helps.",
    Code.NOTHING_TUNABLE: "`cutune inspect --suggest` says what would help.",
    Code.NO_MEASUREMENTS: "Collection was interrupted, or the kernel could not be replayed. "
    "Collect again.",
    Code.POOR_FIT: "No function was found that gives the counts at sizes that were held out; it "
    "may be off by any factor elsewhere. A program that runs is counted on its own data, at the "
    "sizes of `--vary`. If only some of the kernel's integers are sizes, name them by `#pragma "
    "cutune kernel … data(…)`.",
    Code.UNMODELLED_KERNEL: "`cutune fit` found no model of that name. Take one of those listed.",
    Code.MISSING_SIZE: "The choice depends on sizes that were not given.",
    Code.UNKNOWN_SIZE: "The model has no parameter of that name. Take one of those listed.",
    Code.MISSING_COLUMN: "The first row of a table names its columns. Name those that hold sizes, "
    "tunables and times with `--sizes`, `--choose` and `--time`.",
    Code.BAD_CELL: "Sizes and tunables are integers (1e5 is one), times are above 0.",
    Code.EMPTY_TABLE: "Rows without a time, and those that `--where` leaves out, are not read.",
    Code.CONTRADICTING_ROWS: "Without `--time` each row names the best configuration of a size, "
    "so a size can occur only once.",
    Code.NO_SCIKIT_LEARN: "The published procedure takes its splits and the search for k from "
    "scikit-learn. Classifiers are made without it.",
    Code.BAD_TABLE_OPTION: "Options of `cutune fit --table` contradict each other, or one is "
    "missing.",
    Code.ORIGINAL_FAILED: "Two programs that both fail cannot be compared. Correct how the "
    "program is run; `--status` names exit statuses other than 0 that count as success. An end "
    "by a signal, or a kernel that fails on the emulated device, never counts as success.",
    Code.NOTHING_COMPARED: "The original runs twice, and every line differed. Where numbers "
    "differ by rounding, give a `--tolerance`. Leave out times by `--ignore REGEX`, or let the "
    "program write its results to a file and name it by `--file`.",
    Code.VARYING_LENGTH: "Two runs of the original do not have the same number of lines, so "
    "lines cannot be matched. Leave out lines that come and go by `--ignore`.",
    Code.LEFT_OUT: "These lines or numbers differ between two runs of the original itself: times, "
    "addresses, random numbers. All others are compared.",
    Code.ONLY_STATUS: "The program writes no line that is compared. Name the files that hold its "
    "results.",
    Code.NOT_SHAKEN: "The launches that may be changed did not happen, or only at sizes at which "
    "one execution configuration is legal. Use larger sizes, or arguments that reach these "
    "launches.",
    Code.SHAKEN_NOT_COMPILED: "An error of cutune: the rewritten source should compile wherever "
    "the original does. `--keep FOLDER` keeps it.",
    Code.NVCC_FAILED: "nvcc's own messages stand above.",
    Code.COMPILER_KILLED: "Somebody has sent a signal to the compiler, or the system has ended it "
    "for want of memory. A build would go on without tuned launches otherwise. With less memory, "
    "run fewer compilers at a time (`make -j`).",
    Code.FRONT_END_FAILED: "The host steps that `nvcc --dryrun` names could not be run, or their "
    "output was not understood. Launches are not tuned then. The reason is quoted.",
    Code.BUSY_WORKSPACE: (
        "Programs of one name that share a workspace are measured one after the other. The lock "
        "ends with the process that holds it, however that ends."
    ),
    Code.NO_TEMPORARY_FOLDER: "Neither $TMPDIR nor /tmp, nor the current folder, can be written.",
    Code.CACHE_ELSEWHERE: (
        "The emulated device is built once per machine and kept in $XDG_CACHE_HOME/cutune or "
        "~/.cache/cutune. Where there is no such folder, or it is another user's, a folder for "
        "temporary files is used, so that it has to be built again some time."
    ),
    Code.ENDLESS_TEXT: (
        "Macros that use each other twice double the text with each of them, so that no compiler "
        "comes to its end."
    ),
    Code.ENDED_BY_SIGNAL: (
        "The program itself crashed, as it might on a GPU: a printf whose format does not fit its "
        "arguments, for instance. The exit status is 128 plus the signal's number, as in a shell."
    ),
    Code.RUNS_LONG: "A kernel may not end, or have much work for a machine without a GPU.",
    Code.EXECUTED_WORD: (
        "nvcc runs its tools through a shell, and puts file names, folders and values of macros "
        "between double quotes as they are. So a name with a command in it would be executed, by "
        "nvcc alone, too. `cutune nvcc` hands such a call to nvcc unchanged."
    ),
    Code.UNUSABLE_NVCC: "The file cannot be run or is not nvcc.",
    Code.NOT_REWRITTEN: "The compiler refused the source as rewritten by `cutune nvcc`. The "
    "program is right, but not tuned; the reason is the compiler's.",
    Code.FAILED_REWRITING: "An error in cutune, or a full file system. `CUTUNE_MODE=off` leaves "
    "cutune out.",
    Code.BUILD_COMMAND_FAILED: "The command's own messages stand above. `--make` is run by the "
    "shell in the current folder.",
    Code.KNOWN_REMEDY: "The first build of `tune --make` is for the emulated device, which has "
    "functions that newer CUDA lacks; its last one, and the program's own, need what nvcc needs.",
    Code.LINKED_UNTUNED: "`cutune nvcc` compiles with the models that `cutune tune` has made; "
    "without any it is nvcc. Said on a terminal only, when a program is linked.",
    Code.NOTHING_COMPILED: "While the build runs, the first nvcc on PATH is cutune. A build "
    "system that names its compiler by another path has to be given `cutune nvcc`.",
    Code.NO_LAUNCH_COMPILED: "A launch is tuned where the program makes it. Sources that were up "
    "to date, and those that another compiler read, are not among these: `--clean 'make clean'`.",
    Code.NOT_PREPROCESSED: "Code that depends on macros from unread headers is not proven.",
}

#: What there is to do about a launch that stays → the codes of its reasons. A test holds that those
#: of the front end are all here.
REMEDIES: dict[str, tuple[Code, ...]] = {
    "Give cutune what it does not see": (
        Code.MISSING_KERNEL,
        Code.UNKNOWN_FUNCTION,
        Code.UNRESOLVED_NAME,
        Code.CONDITIONAL_CODE,
        Code.NOT_COMPILED,
        Code.UNCOMPILED_LAUNCH,
    ),
    "Write the launch more plainly": (
        Code.DIRECTIVE_IN_LAUNCH,
        Code.LAUNCH_IN_MACRO,
        Code.KERNEL_ARGUMENT,
        Code.NOT_A_STATEMENT,
        Code.HIDDEN_CONFIGURATION,
        Code.SIDE_EFFECT,
        Code.INDIRECT_LAUNCH,
        Code.DIFFERING_KERNELS,
        Code.EARLY_HEADER,
        Code.OTHER_KERNEL,
        Code.UNRESOLVED_LAUNCH,
        Code.REDUNDANT_THREADS,
        Code.REDUNDANT_BLOCKS,
        Code.LAUNCHED_BY_CALL,
        Code.HIDDEN_LAUNCH,
        Code.UNCERTAIN_ADDRESS,
        Code.HIDDEN_MEMBER,
    ),
    "Annotate the kernel, if any block will do": (
        Code.SHARED_MEMORY,
        Code.BARRIER,
        Code.WARP_LEVEL,
        Code.BLOCK_DEPENDENT,
        Code.DYNAMIC_SHARED_MEMORY,
    ),
    "Change the kernel": (
        Code.ASSEMBLY,
        Code.NOT_PROVEN,
        Code.NO_INDEX,
        Code.CONTRADICTION,
        Code.UNPROVEN_CODE,
    ),
    "Mend the annotation": (
        Code.UNKNOWN_ANNOTATED_KERNEL,
        Code.UNKNOWN_PARAMETER,
        Code.MEMBER_PARAMETER,
        Code.EMPTY_CANDIDATES,
        Code.UNKNOWN_GRID_FORMULA,
        Code.NO_ANNOTATED_DIMENSION,
        Code.UNINDEXED_DIMENSION,
        Code.UNKNOWN_CONDITION,
        Code.UNKNOWN_SHARED_FORMULA,
        Code.USELESS_ANNOTATION,
        Code.WARPS_NOT_KEPT,
    ),
    "Leave it: its result depends on the block, or you asked for it": (
        Code.DEVICE_LAUNCH,
        Code.IGNORED,
        Code.COOPERATIVE,
        Code.ATOMIC_RESULT,
        Code.ORDERING,
    ),
    "It may be changed, but has no model": (
        Code.NEVER_LAUNCHED,
        Code.MANY_INSTANCES,
        Code.DIFFERENT_SHARED_MEMORY,
        Code.DATA_DEPENDENT,
        Code.UNSEEN_MEMBER,
        Code.RESULTS_DIFFER,
        Code.NOT_REPLAYED,
        Code.OTHER_ENTRY,
        Code.NO_MEASUREMENTS,
        Code.POOR_FIT,
    ),
}
#: Ends what is written by hand in `docs/guide/refused.md`.
BY_CODE = "<!-- Below: written by `python -m cutune.core.reference`; change the texts there. -->\n"


def diagnostics_page() -> str:
    """The text of `docs/diagnostics.md`."""
    return "\n".join(_lines())


def refused_page(page: str) -> str:
    """The text of `docs/guide/refused.md`: what is there by hand, and each reason by remedy."""
    by_hand = page.partition(BY_CODE)[0]
    return by_hand + BY_CODE + "\n" + "\n".join(_remedies())


def _remedies() -> Iterator[str]:
    for remedy, codes in REMEDIES.items():
        yield f"## {remedy}\n"
        for code in codes:
            link = f"[{code.number}](../diagnostics.md#{code.number.lower()})"
            yield f"**{link}** `{_message(code)}`\n"
            yield f"{MEANINGS[code]}\n"


def _lines() -> Iterator[str]:
    yield "# Diagnostics\n"
    yield "<!-- Written by `python -m cutune.core.reference`; change the texts there. -->\n"
    yield "Every message ends in its code. A released code keeps its meaning. Errors end a verb"
    yield "with status 1. Warnings do not: what they name is left out, and the rest goes on.\n"
    codes = sorted(Code, key=lambda code: code.number)
    for hundred, group in groupby(codes, key=lambda code: code.value[0] // 100):
        yield f"## {hundred}xx: {GROUPS[hundred]}\n"
        yield from map(section, group)


def section(code: Code, level: str = "###") -> str:
    """What the page says of one code."""
    return f"{level} {code.number}\n\n*{code.severity}*: `{_message(code)}`\n\n{MEANINGS[code]}\n"


def _message(code: Code) -> str:
    return code.template.replace("{{", "{").replace("}}", "}")


if __name__ == "__main__":
    diagnostics = Path(sys.argv[1])
    diagnostics.write_text(diagnostics_page(), encoding="utf-8")
    refused = diagnostics.parent / "guide" / "refused.md"
    refused.write_text(refused_page(refused.read_text(encoding="utf-8")), encoding="utf-8")
