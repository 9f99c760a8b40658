"""One command line of `cutune nvcc`. Takes its words, gives `Settings`, and what nvcc's words mean.

nvcc's options are data (`nvcc --help` of CUDA 13): which take a value, and what they are about.
Nothing is normalised: the words are nvcc's own, so that `Command.parse(words).words == words`. Each
of its sources has a key in a workspace. A command with nothing to do is run as it is.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cutune.toolchain.device.present import default_device

FLAG, VALUE, LIST = "flag", "value", "list"


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return pairs of names from `long:short` words; one word where both are the same.

    `--long` and `-short`; a value follows after `=` or as the next word, behind a few one-letter
    options also at once (`-Ifolder`). A list holds values separated by commas.
    """
    pairs = (word.partition(":") for word in text.split())
    return [(long, short or long) for long, _, short in pairs]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FLAGS = _pairs("""
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
_VALUES = _pairs("""
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
_LISTS = _pairs("""
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
INFORMS = names("help version list-gpu-code list-gpu-arch dryrun clean-targets")
#: The output is text, not a program.
PREPROCESSES = names("preprocess generate-dependencies generate-nonsystem-dependencies")
#: Host code, and with it every launch, is discarded.
DEVICE_ONLY = names("cubin fatbin ptx optix-ir ltoir fdevice-syntax-only")
#: Device code that the emulated device can have in its form, too.
MODULES = names("cubin fatbin ptx")
#: Compiles, but does not link.
STOPS_AT_OBJECT = names("compile device-c device-w")
DEPENDENCIES_TOO = names(
    "generate-dependencies-with-compile generate-nonsystem-dependencies-with-compile"
)
#: Options that the compiled text depends on. They identify a source, together with its path.
DECIDES_TEXT = names("define-macro undefine-macro pre-include")
#: Options on where results go, what is linked or which steps run; not about the source.
NOT_ABOUT_SOURCE = DEPENDENCIES_TOO | names("""
    output-file output-directory dependency-output dependency-target-name
    generate-dependency-targets compile device-c device-w device-link link lib run run-args library
    library-path linker-options cuda archive-options nvlink-options shared cudart cudadevrt verbose
    keep save-temps keep-dir time threads no-device-link jobserver relocatable-link
    objdir-as-tempdir fdevice-time-trace host-linker-script augment-host-linker-script
    resource-usage archiver-binary lto dlink-time-opt gen-opt-lto split-compile
    split-compile-extended Xfatbin
""")


#: Response files may name others; so deep they are followed.
_DEEPEST = 8
#: In place of the index of a word: it stands in a response file, or in a variable.
IN_FILE, IN_ENVIRONMENT = -1, -2


class Item(NamedTuple):
    """An option with its value, or an input (`name` is empty).

    `first` is the index of its first word, or IN_FILE or IN_ENVIRONMENT.
    """

    name: str
    value: str
    first: int
    length: int


class Command(NamedTuple):
    """A command line as nvcc reads it, in the order in which it does."""

    words: tuple[str, ...]
    items: tuple[Item, ...]

    @staticmethod
    def parse(words: Sequence[str], before: str = "", after: str = "") -> Command:
        """Read the words; `before` and `after` are NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS."""
        first, last = (_read(_split(text), IN_ENVIRONMENT) for text in (before, after))
        return Command(tuple(words), (*first, *_read(words), *last))

    def has(self, options: Iterable[str]) -> bool:
        return any(item.name in options for item in self.items if item.name)

    def last(self, name: str) -> str | None:
        return next((item.value for item in reversed(self.items) if item.name == name), None)

    def values(self, name: str) -> list[str]:
        return [v for item in self.items if item.name == name for v in split_list(item.value)]

    @property
    def inputs(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if not item.name)

    @property
    def sources(self) -> tuple[Item, ...]:
        language = self.last("x")
        if language is not None:
            return self.inputs if language == "cu" else ()
        return tuple(item for item in self.inputs if item.value.endswith(".cu"))

    @property
    def makes_host_code(self) -> bool:
        """Does it compile sources into something that launches kernels?"""
        return bool(self.sources) and not self.has(INFORMS | PREPROCESSES | DEVICE_ONLY)

    @property
    def makes_modules(self) -> bool:
        """Does it compile sources into files of device code, which a program then loads?"""
        return bool(self.sources) and self.has(MODULES) and not self.has(INFORMS | PREPROCESSES)

    @property
    def links(self) -> bool:
        """Does it make a program or shared library?"""
        others = INFORMS | PREPROCESSES | DEVICE_ONLY | STOPS_AT_OBJECT
        return bool(self.inputs) and not self.has(others | {"cuda", "device-link", "lib"})

    def outputs(self) -> list[str]:
        """The objects or the program that it makes, as nvcc names them."""
        if not self.inputs or self.has(INFORMS | PREPROCESSES):
            return []
        named = self.last("output-file")
        if named is not None:
            return [named]
        if self.links:
            return ["a.out"]
        if not self.has(STOPS_AT_OBJECT):
            return []
        return [self.beside(item.value, ".o") for item in self.inputs]

    def dependency_files(self) -> list[str]:
        """The files that -MD or -MMD writes (nvcc's manual, 4.2.1.14)."""
        if not self.has(DEPENDENCIES_TOO):
            return []
        named = self.last("dependency-output")
        if named is not None:
            return [named]
        output = self.last("output-file")
        if output is not None:
            return [os.path.splitext(output)[0] + ".d"]
        return [self.beside(item.value, ".d") for item in self.inputs]

    def beside(self, path: str, suffix: str) -> str:
        name = os.path.splitext(os.path.basename(path))[0] + suffix
        return os.path.join(self.last("output-directory") or "", name)

    def words_of(self, item: Item) -> tuple[str, ...]:
        """An item as words, also where it stands in a response file."""
        if item.first >= 0:
            return self.words[item.first : item.first + item.length]
        if not item.name or item.name == "?":
            return (item.value,)
        return (f"--{item.name}",) if KINDS[item.name] == FLAG else (f"--{item.name}", item.value)


def split_list(value: str) -> list[str]:
    """The values of a list; a comma may be escaped, or stand between quotes."""
    parts, quote, index = [""], "", 0
    while index < len(value):
        character = value[index]
        if character == "\\" and value[index + 1 : index + 2] == ",":
            parts[-1] += ","
            index += 2
            continue
        if character in "\"'" and quote in ("", character):
            quote = "" if quote else character
        if character == "," and not quote:
            parts.append("")
        else:
            parts[-1] += character
        index += 1
    return parts


def _read(words: Sequence[str], place: int | None = None, depth: int = 0) -> Iterator[Item]:
    """The items of a command line, or of words that stand at another `place`."""
    index = 0
    while index < len(words):
        item = _item(words, index)
        index += item.length
        yield item if place is None else item._replace(first=place)
        if depth < _DEEPEST:
            for path in _response_files(item):
                yield from _read(_split(_text_of(path)), place or IN_FILE, depth + 1)


def _item(words: Sequence[str], index: int) -> Item:
    word = words[index]
    if not word.startswith("-") or word == "-":
        return Item("", word, index, 1)
    spelling, equals, value = word.partition("=")
    name = SPELLINGS.get(word) or SPELLINGS.get(spelling if equals else "")
    if name is None:
        for prefix in ATTACHED:
            if word.startswith(prefix):
                return Item(SPELLINGS[prefix], word[len(prefix) :].removeprefix("="), index, 1)
        # nvcc may know an option that the table does not, and says so where it does not either.
        return Item("?", word, index, 1)
    if KINDS[name] == FLAG or equals:
        return Item(name, value if equals else "", index, 1)
    if index + 1 == len(words):
        return Item(name, "", index, 1)
    return Item(name, words[index + 1], index, 2)


def _response_files(item: Item) -> list[str]:
    if item.name == "options-file":
        return split_list(item.value)
    return [item.value[1:]] if not item.name and item.value.startswith("@") else []


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""  # nvcc says it


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def run_instead(launcher: Sequence[str], words: Sequence[str]) -> int:
    # Where nothing was to be done, nothing was imported.
    if temporary := sys.modules.get("cutune.core.temporary"):
        temporary.discard()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(launcher[0], [*launcher, *words])
    except OSError as error:
        print(f"cutune nvcc: cannot run {launcher[0]}: {error.strerror}", file=sys.stderr)
        return 127


#: The folder of a workspace that holds one folder per key.
UNITS = "units"
#: Stands in that of a source whose kernels others launch.
LENDS = "lends"


#: Macros that torch gives to each extension: its kernels are known with them and without. A digest
#: of the preprocessed text would need no list, but the key is asked for at each call, also where
#: nothing is to be done: the preprocessor would run then, which takes longer than all the rest.
_OF_TORCH = ("TORCH_", "__CUDA_NO_", "PYBIND11_", "_GLIBCXX_USE_CXX11_ABI")


#: Lists the folders that have held a workspace, where it is to be found when it was moved.
PLACES = "places"


def noted_places(workspace: str) -> list[str]:
    return _text_of(os.path.join(workspace, PLACES)).splitlines()


def names_of(path: str, workspace: str) -> list[str]:
    """The names by which a workspace may know a file: its path here, and where both were before."""
    path, now = os.path.realpath(path), os.path.dirname(os.path.realpath(workspace))
    if not path.startswith(os.path.join(now, "")):
        return [path]
    places = reversed(noted_places(workspace))
    before = (os.path.join(root, os.path.relpath(path, now)) for root in places)
    return list(dict.fromkeys([path, *before]))


def unit_key(command: Command, source: Item, path: str = "") -> str:
    """The key of a source: a hash of its path, macros and forced headers.

    `path`: another one than it has now.
    """
    # Most calls have no workspace, and start quicker without.
    import hashlib  # noqa: PLC0415

    deciding = [
        (i.name, i.value)
        for i in command.items
        if i.name in DECIDES_TEXT
        and not (i.name == "define-macro" and i.value.startswith(_OF_TORCH))
    ]
    deciding += [
        ("compiler-options", value)
        for value in command.values("compiler-options")
        if value.startswith(("-D", "-U", "-include"))
    ]
    identity = repr((path or os.path.realpath(source.value), deciding))
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:16]


TUNED, INSTRUMENT, SHAKEN = "tuned", "instrument", "shaken"
EMULATED, OFF = "emulated", "off"
MODES = (TUNED, INSTRUMENT, SHAKEN, EMULATED, OFF)
WORKSPACE = ".cutune"
#: What an instrumented program does, by the same variable.
_OF_PROBES = ("record", "sweep", "profile")
_PREFIX = "--cutune-"
_SETTINGS = ("mode", "workspace", "device", "nvcc", "strict", "variants", "associative-math")
#: May launches choose among variants of their kernels, too? As `cutune tune --variants`.
ALL, NONE = "all", "none"
#: Variable that says so.
VARIANTS = "CUTUNE_VARIANTS"
#: Variable that allows sums of floating-point numbers in any order, by 1.
ASSOCIATIVE = "CUTUNE_ASSOCIATIVE_MATH"


class Settings(NamedTuple):
    """What the `--cutune-` options and the environment say.

    `workspace`: None: those beside and above a source are looked at. `nvcc`: None: the one that is
    found. `strict`: is a failure of cutune an error?
    """

    modes: frozenset[str]
    workspace: str | None
    devices: tuple[str, ...]
    nvcc: str | None
    strict: bool
    variants: bool
    is_associative: bool


class Usage(Exception):
    """A wrong `--cutune-` option: a message, an unknown name, and the known ones."""

    def __init__(self, said: str, name: str = "", known: Sequence[str] = ()) -> None:
        super().__init__(said)
        self.name, self.known = name, known


def read_settings(arguments: Sequence[str]) -> tuple[Settings, list[str]]:
    """The `--cutune-` options, wherever they stand, and the other words. Raises Usage."""
    words: list[str] = []
    found: dict[str, str] = {}
    for word in arguments:
        if not word.startswith(_PREFIX):
            words.append(word)
            continue
        name, _, value = word[len(_PREFIX) :].partition("=")
        if name not in _SETTINGS:
            known = [_PREFIX + name for name in _SETTINGS]
            raise Usage(f"unknown option '{word}'", word.partition("=")[0], known)
        found[name] = value
    environment = os.environ
    settings = Settings(
        _modes(found["mode"]) if "mode" in found else _modes_of_environment(),
        found.get("workspace") or environment.get("CUTUNE_WORKSPACE"),
        tuple((found.get("device") or default_device()).split(",")),
        found.get("nvcc"),
        _switch("strict", found, "CUTUNE_STRICT"),
        _variants(found),
        _switch("associative-math", found, ASSOCIATIVE),
    )
    return settings, words


def _switch(name: str, found: Mapping[str, str], variable: str) -> bool:
    if found.get(name):
        raise Usage(f"{_PREFIX}{name} takes no value")
    return name in found or _value_of(variable, ("0", "1")) == "1"


def _variants(found: Mapping[str, str]) -> bool:
    if "variants" not in found:
        return _value_of(VARIANTS, (ALL, NONE)) == ALL
    text = found["variants"]
    if text not in (ALL, NONE):
        raise Usage(f"unknown value of --cutune-variants '{text}'", text, (ALL, NONE))
    return text == ALL


def _value_of(variable: str, known: Sequence[str]) -> str:
    """The value of a variable, of which the first one is that of one that is not set."""
    text = os.environ.get(variable) or known[0]
    if text not in known:
        raise Usage(f"unknown value of {variable} '{text}'", text, known)
    return text


def _modes(text: str) -> frozenset[str]:
    modes = frozenset(text.split(","))
    if not modes <= set(MODES):
        wrong = next(mode for mode in text.split(",") if mode not in MODES)
        raise Usage(f"unknown mode '{wrong}'", wrong, MODES)
    if OFF in modes:
        return frozenset()
    if len(modes & {TUNED, INSTRUMENT, SHAKEN}) > 1:
        raise Usage("a program is either instrumented, tuned or shaken")
    return modes


def _modes_of_environment() -> frozenset[str]:
    """`$CUTUNE_MODE`, which instrumented programs read, too; their words are skipped."""
    text = os.environ.get("CUTUNE_MODE") or TUNED
    return frozenset([TUNED]) if text in _OF_PROBES else _modes(text)


def workspaces_of(path: str, workspace: str | None) -> list[str]:
    """The workspaces of a source: the one asked for, or all beside it and above it.

    Behind these, those in the current folder and above it, where `cutune tune` may have been called
    for sources that lie elsewhere.
    """
    if workspace:
        return [workspace]
    own = os.path.dirname(os.path.abspath(path))
    try:
        current = os.getcwd()
    except OSError:  # it has been deleted
        current = own
    places = [os.path.join(folder, WORKSPACE) for folder in (*_upwards(own), *_upwards(current))]
    return [place for place in dict.fromkeys(places) if os.path.isdir(place)]


def _upwards(folder: str) -> list[str]:
    found = [folder]
    while (above := os.path.dirname(folder)) != folder:
        found.append(folder := above)
    return found
