"""nvcc with the options of one program. Takes sources, gives device code and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cutune.toolchain.compiler_commands import quote_folder
from cutune.toolchain.device_code import (
    EMULATED,
    SOURCE,
    Begun,
    DeviceCode,
    EarlierCode,
    compiled,
    targets,
)
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from cutune.toolchain.preprocessed import host_pass


@dataclass(frozen=True)
class Toolchain:
    """nvcc, and how it compiles the sources of a program.

    `nvcc_option`: the nvcc that is asked for; None: the one that is found. `architectures`: those
    that are compiled for besides those of the flags. `begun`: what nvcc has begun to compile.
    `earlier`: device code that is assumed, or noted for a later call.
    """

    nvcc_option: str | None = None
    flags: tuple[str, ...] = ()
    architectures: tuple[str, ...] = (EMULATED,)
    begun: Begun | None = None
    earlier: EarlierCode | None = None

    @cached_property
    def nvcc(self) -> Nvcc:
        """The compiler. Raises CT003 when there is none, CT702 when the one named is missing."""
        return find_nvcc(self.nvcc_option)

    def with_flags(self, flags: Sequence[str]) -> Toolchain:
        return replace(self, flags=(*self.flags, *flags))

    def with_begun(self, path: str) -> Toolchain:
        flags = self.compile_flags(path)
        return replace(self, begun=Begun.at(self.nvcc, path, flags, self.architectures))

    def compile_flags(self, path: str) -> list[str]:
        """The flags for a source; quoted includes are found beside the original file."""
        return [*self.flags, "-Xcompiler", quote_folder(str(Path(path).resolve().parent))]

    def preprocessed(self, path: str) -> str:
        """The text that the host compiler gets of a source."""
        flags = self.compile_flags(path)
        if self.begun is not None and self.begun.is_of(path, flags):
            return self.begun.expanded.result()
        return host_pass(self.nvcc, path, flags)

    def targets(self, flags: Sequence[str]) -> tuple[str, ...]:
        """The architectures that a source with these flags is compiled for."""
        return targets(flags, self.architectures, self.nvcc)

    def device_codes(
        self,
        path: str,
        pool: ThreadPoolExecutor,
        flags: Sequence[str] | None = None,
        only: Sequence[str] = (),
        about: str = SOURCE,
    ) -> Mapping[str, Future[DeviceCode]]:
        """Begin to compile a source for the device; the code of each architecture.

        `only`: of these; empty: of all. `about`: what is compiled. Raises NoEarlierCode.
        """
        flags = self.compile_flags(path) if flags is None else flags
        names = only or self.targets(flags)

        def begin() -> Mapping[str, Future[DeviceCode]]:
            begun = self.begun
            if begun is not None and begun.is_of(path, flags) and {*names} == {*begun.codes}:
                return begun.codes
            return {one: pool.submit(compiled, self.nvcc, path, flags, one, True) for one in names}

        return begin() if self.earlier is None else self.earlier.codes(about, names, begin)
