"""The program model: what `analyze` gives and every later stage reads.

Kernels with the facts proven about them, launch sites with their verdicts. All frozen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cutune.diagnostics import Code, Diagnostic
from cutune.source import Source, Span

DIMENSIONS = ("x", "y", "z")


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: name and type as written (macros expanded, qualifiers kept)."""

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        """Does it point to memory?"""
        return "*" in self.type or "[" in self.type


@dataclass(frozen=True)
class Impurity:
    """Why a kernel may not be re-blocked: the rule that failed, and where."""

    code: Code
    message: str
    span: Span


@dataclass(frozen=True)
class DimensionFacts:
    """What is proven about one index dimension of a kernel.

    `indexed`: the kernel uses a built-in of this dimension. `impurity`: None when the dimension is
    pure, that is, built-ins occur only as the global id or as the grid stride. `guard`: text of an
    expression g over the kernel's parameters such that every effect lies under `id < g`, or None.
    `grid_stride`: the dimension is used with `gridDim.d * blockDim.d`.
    """

    indexed: bool
    impurity: Impurity | None = None
    guard: str | None = None
    grid_stride: bool = False


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function definition (declarations are joined to it)."""

    name: str
    source: Source
    span: Span
    parameters: tuple[Parameter, ...]
    template_parameters: tuple[str, ...]
    dimensions: tuple[DimensionFacts, DimensionFacts, DimensionFacts]
    #: Why no dimension can be tuned (shared memory, warp-level code, not parsed …), or None.
    impurity: Impurity | None = None
    #: Integer parameters that reach a guard, a loop bound, another branch or an address.
    data_parameters: tuple[str, ...] = ()
    max_threads: int = 1024

    @property
    def pure_dimensions(self) -> tuple[str, ...]:
        """Indexed dimensions in which the block may be changed."""
        if self.impurity is not None:
            return ()
        facts = zip(DIMENSIONS, self.dimensions, strict=True)
        return tuple(d for d, f in facts if f.indexed and f.impurity is None)


class Verdict(Enum):
    """May the launch be tuned?"""

    TUNABLE = "tunable"
    REFUSED = "refused"


@dataclass(frozen=True)
class LaunchSite:
    """One `kernel<<<grid, block, shared, stream>>>(arguments)` in the text."""

    id: int
    kernel: str
    #: From the first byte of the callee to the `)` of the argument list, without the `;`.
    span: Span
    #: The callee as written, with namespace and explicit template arguments.
    callee: str
    configuration: tuple[str, ...]
    configuration_spans: tuple[Span, ...]
    arguments: tuple[str, ...]
    function: str | None
    verdict: Verdict
    reason: str
    #: Code of the rule that refused it, or None.
    code: Code | None = None


@dataclass(frozen=True)
class Program:
    """Everything known about one source file."""

    source: Source
    kernels: tuple[Kernel, ...]
    launches: tuple[LaunchSite, ...]
    diagnostics: tuple[Diagnostic, ...] = field(default=())

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of that name, if it is defined in what was read."""
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    @property
    def tunable_launches(self) -> tuple[LaunchSite, ...]:
        """The launch sites that may be tuned."""
        return tuple(site for site in self.launches if site.verdict is Verdict.TUNABLE)
