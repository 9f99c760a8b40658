"""The block of a launch at given sizes. Takes `NAME=VALUE` words and a model, gives a `Selection`.

`MODELS` has the performance models by name. Beyond the sizes for which its counts hold, a model is
not asked and the program's own block and kernel stay: `cutune select` says so, and the selection
routine of a tuned program does the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import GRID_LIMITS, Block, grid_of
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.fit.measurement.size_relations import extents_at, only_at
from cutune.fit.rational.exact_fit import fit_polynomial
from cutune.fit.rational.program import point
from cutune.fit.rational.values import evaluate_each
from cutune.models.candidates import launchable
from cutune.models.constants import ASKING_US
from cutune.models.selection.choose import Selection, select
from cutune.models.selection.registry import DEFAULT, MODELS
from cutune.models.selection.support import LARGEST_SIZE, outside, supported

_WORD = re.compile(r"(?P<name>[A-Za-z_][\w.]*)=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class LaunchSizes:
    """Sizes by parameter name, and threads per dimension that the launch must cover.

    Where the grid is kept, extents are blocks.
    """

    sizes: Mapping[str, int]
    extents: Block


def parse_sizes(words: Sequence[str]) -> dict[str, int]:
    """`NAME=VALUE` words as a mapping; `T.x` names the thread space of a dimension,
    `G.x` its number of blocks where that is kept.

    Raises:
        CutuneError: CT008 for a word of another form.
    """
    sizes = {}
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            every = f", or --all-sizes {word}" if word.isdecimal() else ""
            raise _bad(word, "a size", f"NAME=1024{every}")
        sizes[match["name"]] = parse_size(match["value"], f"{match['name']}=1024")
    return sizes


def parse_size(text: str, example: str) -> int:
    """A positive integer below 2^31.

    Raises:
        CutuneError: CT008.
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 0 < value < LARGEST_SIZE:
        raise _bad(text, "a positive integer below 2^31", example)
    return value


def ask(model: FittedModel, named: Mapping[str, int], every: int | None) -> LaunchSizes:
    """Complete the sizes of a question.

    Args:
        named: sizes by name; case is ignored where the name stays unambiguous.
        every: the value of all other sizes, or None.

    Raises:
        CutuneError: CT511 when a size is missing, CT512 for a name that the kernel does not have.
    """
    kernel = model.kernel
    extents_by_name = kernel.extent_words
    asked = {**{name: name for name in kernel.parameters}, **extents_by_name}
    known = {**asked, **{name: name for name, _ in only_at(kernel)}}
    sizes = {known[_resolve(name, known, kernel)]: value for name, value in named.items()}
    if every is not None:
        sizes = {**dict.fromkeys(kernel.parameters, every), **sizes}
        if word := threads_alone(kernel):
            whole = _whole_blocks(kernel, "xyz".index(word[-1]), every)
            sizes.setdefault(extents_by_name[word], whole)
    for word, variable in extents_by_name.items():
        if variable not in sizes:
            extent = _recorded_extent(kernel, "xyz".index(word[-1]), sizes)
            if extent is not None:
                sizes[variable] = extent
    missing = [word for word, variable in asked.items() if variable not in sizes]
    if missing:
        example = " ".join(f"{name}=1024" for name in missing)
        meaning, code = "".join(map(_meaning, missing)), Code.MISSING_SIZE
        raise CutuneError(
            Diagnostic.at(code, None, kernel=kernel.name, example=example, meaning=meaning)
        )
    return LaunchSizes(sizes, _extents(kernel, sizes))


def threads_alone(kernel: MeasuredKernel) -> str:
    """`T.x`, where a number of threads is all that differs among the launches; else nothing."""
    words = [*kernel.extent_words]
    if kernel.parameters or len(words) != 1 or not words[0].startswith("T."):
        return ""
    axis = "xyz".index(words[0][-1])
    return words[0] if len({threads[axis] for _, threads in kernel.recorded}) > 1 else ""


def _whole_blocks(kernel: MeasuredKernel, axis: int, ids: int) -> int:
    """Threads of as many of its own blocks as give one to each id."""
    width = kernel.original[axis]
    return -(-ids // width) * width


def _meaning(word: str) -> str:
    """The meaning of a size that is no argument of the kernel; empty for others."""
    meanings = {"T": "threads of all blocks together", "G": "blocks of the grid"}
    letter, dot, axis = word.partition(".")
    meaning = meanings.get(letter) if dot and axis in ("x", "y", "z") else None
    return f"; {word}: {meaning} in {axis}" if meaning else ""


class Chooser:
    """Chooses the block that the tuned program would use; composes the model once for all sizes."""

    def __init__(
        self, model: FittedModel, device: DeviceProfile, performance: str = DEFAULT
    ) -> None:
        """`performance`: the performance model, by its name in `MODELS`.

        Raises:
            CutuneError: CT515 where no launch is possible.
        """
        self._model = launchable(model, device)
        judge = MODELS[performance]
        self._program = judge.compose(self._model, device)
        self._rule = judge.rule(self._model, device)
        self._supported = supported(self._model)
        #: How sizes are named, and what asking about pointers takes.
        self.size_names = model.kernel.parameters
        self.asking_us = float(ASKING_US) * model.kernel.asked_pointers

    def choose(self, sizes: Mapping[str, int], every: int | None = None) -> Selection:
        """The block at these sizes.

        Raises:
            CutuneError: CT511, CT512 for sizes that do not fit the kernel, CT515 where no launch is
                possible.
        """
        [choice] = self.choose_each([(sizes, every)])
        if isinstance(choice, CutuneError):
            raise choice
        return choice

    def choose_each(
        self, asked: Sequence[tuple[Mapping[str, int], int | None]]
    ) -> list[Selection | CutuneError]:
        """As `choose`, for many sizes at once, which takes little longer than for one."""
        prepared = [self._prepared(sizes, every) for sizes, every in asked]
        launches = [launch for launch in prepared if isinstance(launch, LaunchSizes)]
        selected = iter(self._selected(launches))
        choices = (next(selected) if isinstance(one, LaunchSizes) else one for one in prepared)
        return [self._launchable(one) if isinstance(one, Selection) else one for one in choices]

    def _prepared(
        self, sizes: Mapping[str, int], every: int | None
    ) -> LaunchSizes | Selection | CutuneError:
        """Sizes of a launch, or the program's own block where the model may not be asked there."""
        try:
            launch = ask(self._model, sizes, every)
        except CutuneError as error:
            return error
        kernel, far = self._model.kernel, outside(self._supported, launch.sizes)
        if not far:
            return launch
        grid = grid_of(kernel.original, launch.extents, kernel.grid_kept)
        far = kernel.as_asked(far.items())
        return Selection(kernel.original, grid, (), False, True, kernel.original, 1.0, far)

    def _launchable(self, choice: Selection) -> Selection | CutuneError:
        for name, blocks, most in zip("xyz", choice.grid, GRID_LIMITS, strict=True):
            if blocks > most:
                reason = f"it would need {blocks} blocks in {name}, of which CUDA allows {most}"
                return _impossible(self._model.kernel, reason)
        return choice

    def _selected(self, launches: Sequence[LaunchSizes]) -> Iterator[Selection]:
        kernel = self._model.kernel
        sizes = {name: [launch.sizes[name] for launch in launches] for name in kernel.parameters}
        extents = [[launch.extents[axis] for launch in launches] for axis in range(3)]
        each = evaluate_each(self._program, point(sizes, extents))
        guarded = tuple(guard is not None for guard in kernel.guards)
        launched = (kernel.original, kernel.free, kernel.grid_kept)
        for launch, values in zip(launches, each, strict=True):
            yield select(values, self._rule, launch.extents, guarded, *launched)


def choose_block(
    model: FittedModel,
    device: DeviceProfile,
    sizes: Mapping[str, int],
    every: int | None = None,
    performance: str = DEFAULT,
) -> Selection:
    """The block that the tuned program would use at these sizes; see `Chooser`.

    Raises:
        CutuneError: CT511, CT512 for sizes that do not fit the kernel, CT515 where no launch is
            possible.
    """
    return Chooser(model, device, performance).choose(sizes, every)


def _extents(kernel: MeasuredKernel, sizes: Mapping[str, int]) -> Block:
    extents = extents_at(kernel, sizes)
    for name, guard, extent in zip("xyz", kernel.guards, extents, strict=True):
        if guard is not None and extent < 1:
            raise _impossible(kernel, f"it has no thread in {name}, where {guard} is {extent}")
    return extents


def _recorded_extent(kernel: MeasuredKernel, axis: int, sizes: Mapping[str, int]) -> int | None:
    """The thread space of the source's grid expression, inferred from recorded launches."""
    if any(name not in sizes for name in kernel.parameters):
        return None
    samples = {(values, threads[axis]) for values, threads in kernel.recorded}
    seen = dict(samples)
    if len(seen) < len(samples):
        return None  # it does not follow from the sizes
    if len(seen) == 1:
        threads = next(iter(seen.values()))
        return threads if not kernel.parameters else None
    function = fit_polynomial(kernel.parameters, list(seen), list(seen.values()))
    if function is None:
        return _one_per_id(kernel, axis, seen, sizes)
    value: Fraction = function(sizes)
    return int(value) if value.denominator == 1 and value > 0 else None


def _one_per_id(
    kernel: MeasuredKernel, axis: int, seen: Mapping[tuple[int, ...], int], sizes: Mapping[str, int]
) -> int | None:
    """The thread space, if in all launches one size counts the ids and the blocks just cover it."""
    if kernel.grid_kept[axis] or len(set(seen.values())) < 2:
        return None
    extents = {
        _whole_blocks(kernel, axis, sizes[name])
        for place, name in enumerate(kernel.parameters)
        if all(
            threads == _whole_blocks(kernel, axis, values[place])
            for values, threads in seen.items()
        )
    }
    return extents.pop() if len(extents) == 1 else None


def _resolve(name: str, known: Mapping[str, str], kernel: MeasuredKernel) -> str:
    if name in known:
        return name
    same = [candidate for candidate in known if candidate.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    names = known_names(name, known)
    raise CutuneError(
        Diagnostic.at(Code.UNKNOWN_SIZE, None, name=name, kernel=kernel.name, known=names)
    )


def _impossible(kernel: MeasuredKernel, reason: str) -> CutuneError:
    return CutuneError(Diagnostic.at(Code.IMPOSSIBLE_GRID, None, kernel=kernel.name, reason=reason))


def _bad(text: str, wanted: str, example: str) -> CutuneError:
    return CutuneError(
        Diagnostic.at(Code.BAD_SIZE, None, text=text, wanted=wanted, example=example)
    )
