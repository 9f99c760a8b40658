"""nvcc's options as data (`nvcc --help` of CUDA 13): which take a value, and what they are about.

`--long` and `-short` names; a value follows after `=` or as the next word, behind a few one-letter
options also at once (`-Ifolder`). A list holds values separated by commas.
"""

from __future__ import annotations

FLAG, VALUE, LIST = "flag", "value", "list"


def _names(text: str) -> list[tuple[str, str]]:
    """`long:short` words; one word where both are the same."""
    pairs = (word.partition(":") for word in text.split())
    return [(long, short or long) for long, _, short in pairs]


_FLAGS = _names("""
    cuda cubin fatbin ptx optix-ir ltoir preprocess:E generate-dependencies:M
    generate-nonsystem-dependencies:MM generate-dependencies-with-compile:MD
    generate-nonsystem-dependencies-with-compile:MMD generate-dependency-targets:MP compile:c
    device-c:dc device-w:dw device-link:dlink link lib run objdir-as-tempdir:objtemp
    allow-unsupported-compiler use-local-env force-cl-env-setup profile:pg debug:g device-debug:G
    generate-line-info:lineinfo dlink-time-opt:dlto lto gen-opt-lto no-exceptions:noeh shared
    no-host-device-initializer-list:nohdinitlist no-host-device-move-forward:nohdmoveforward
    expt-relaxed-constexpr extended-lambda expt-extended-lambda m64
    forward-unknown-to-host-compiler forward-unknown-to-host-linker forward-unknown-opts
    dont-use-profile:noprof dryrun verbose:v fdevice-syntax-only keep save-temps
    clean-targets:clean no-align-double no-device-link:nodlink use_fast_math
    extra-device-vectorization disable-warnings:w keep-device-functions source-in-ptx:src-in-ptx
    restrict Wreorder Wdefault-stream-launch Wmissing-launch-bounds Wext-lambda-captures-this
    Wno-deprecated-declarations Wno-deprecated-gpu-targets resource-usage:res-usage
    extensible-whole-program:ewp no-compress compile-as-tools-patch:astoolspatch
    list-gpu-code:code-ls list-gpu-arch:arch-ls display-error-number:err-no
    no-display-error-number:no-err-no augment-host-linker-script:aug-hls relocatable-link:r
    relocatable-ptx:reloc-ptx jobserver help:h version:V
""")
_VALUES = _names("""
    output-file:o output-directory:odir dependency-output:MF dependency-target-name:MT
    compiler-bindir:ccbin archiver-binary:arbin cudart cudadevrt libdevice-directory:ldir
    target-directory:target-dir optimize:O Ofast-compile:Ofc dopt ftemplate-backtrace-limit
    ftemplate-depth x std machine:m static-global-template-stub
    device-entity-has-hidden-visibility threads:t split-compile split-compile-extended
    fdevice-time-trace keep-dir time input-drive-prefix:idp dependency-drive-prefix:ddp
    drive-prefix:dp gpu-architecture:arch relocatable-device-code:rdc maxrregcount ftz prec-div
    prec-sqrt fmad default-stream host-linker-script:hls brief-diagnostics:brief-diag
    jump-table-density:jtd device-stack-protector compress-mode frandom-seed sanitize qpp-config
""")
_LISTS = _names("""
    pre-include:include library:l define-macro:D undefine-macro:U include-path:I
    system-include:isystem library-path:L optimization-info:opt-info compiler-options:Xcompiler
    linker-options:Xlinker archive-options:Xarchive ptxas-options:Xptxas nvlink-options:Xnvlink
    run-args gpu-code:code generate-code:gencode entries:e Werror diag-error diag-suppress
    diag-warn options-file:optf Xcudafe Xcicc Xfatbin
""")

#: Spelling with its dashes → the option's long name.
SPELLINGS: dict[str, str] = {}
#: Long name → how it takes values.
KINDS: dict[str, str] = {}
for _kind, _group in ((FLAG, _FLAGS), (VALUE, _VALUES), (LIST, _LISTS)):
    for _long, _short in _group:
        SPELLINGS[f"--{_long}"] = SPELLINGS[f"-{_short}"] = _long
        KINDS[_long] = _kind
#: Options whose value may follow at once; the longest spelling is looked up first.
ATTACHED = ("-I", "-D", "-U", "-L", "-l", "-O", "-t")

#: Nothing is compiled.
INFORMS = frozenset(
    ["help", "version", "list-gpu-code", "list-gpu-arch", "dryrun", "clean-targets"]
)
#: The output is text, not a program.
PREPROCESSES = frozenset(["preprocess", "generate-dependencies", "generate-nonsystem-dependencies"])
#: Host code, and with it every launch, is discarded.
DEVICE_ONLY = frozenset(["cubin", "fatbin", "ptx", "optix-ir", "ltoir", "fdevice-syntax-only"])
#: Compiles, but does not link.
STOPS_AT_OBJECT = frozenset(["compile", "device-c", "device-w"])
DEPENDENCIES_TOO = frozenset(
    ["generate-dependencies-with-compile", "generate-nonsystem-dependencies-with-compile"]
)
#: Options that the compiled text depends on. They identify a source, together with its path.
DECIDES_TEXT = frozenset(["define-macro", "undefine-macro", "pre-include"])
#: Options on where results go, what is linked or which steps run; not about the source.
NOT_ABOUT_SOURCE = frozenset(
    [
        *("output-file", "output-directory", "dependency-output", "dependency-target-name"),
        *("generate-dependency-targets", "compile", "device-c", "device-w", "device-link", "link"),
        *("lib", "run", "run-args", "library", "library-path", "linker-options", "cuda"),
        *("archive-options", "nvlink-options", "shared", "cudart", "cudadevrt", "verbose"),
        *("keep", "save-temps", "keep-dir", "time", "threads", "no-device-link", "jobserver"),
        *("relocatable-link", "objdir-as-tempdir", "fdevice-time-trace", "host-linker-script"),
        *("augment-host-linker-script", "resource-usage", "archiver-binary", "lto"),
        *("dlink-time-opt", "gen-opt-lto", "split-compile", "split-compile-extended", "Xfatbin"),
        *DEPENDENCIES_TOO,
    ]
)
