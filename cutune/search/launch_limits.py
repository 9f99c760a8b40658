"""Launches that a device refuses. Takes a program, values and ptxas counters, gives the reason.

A thread block whose size follows from parameters is judged before anything is compiled, and again,
with the registers and the shared memory of its kernel, before the program runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from cutune.source.host_formula import Call, Cast, Formula, HostOperation, Name, Number, constant
from cutune.source.program import LaunchSite, Program
from cutune.space.condition import Value
from cutune.toolchain.device.profile import (
    REGISTER_UNIT,
    SUB_PARTITIONS,
    BlockResources,
    Limits,
    can_launch,
)
from cutune.toolchain.device.thread_block import WARP
from cutune.toolchain.kernel_names import base_name
from cutune.toolchain.ptxas import StaticCounters

Counters = Mapping[str, StaticCounters]
#: Messages of CUDA and ptxas about a launch that needs more than there is.
_REFUSED = re.compile(
    r"too many resources requested for launch|invalid configuration argument"
    r"|uses too much shared data|LaunchOutOfResources|InvalidConfiguration"
)


def says_limits(reason: str) -> bool:
    """Is a failure that of a launch, or a kernel, that needs more than the device has?"""
    return _REFUSED.search(reason) is not None


@dataclass(frozen=True)
class LaunchLimits:
    """The limits of a device for the launches of a program."""

    program: Program
    limits: Limits

    def refusal(self, values: Mapping[str, Value], counters: Counters) -> str:
        """Return why the device would refuse a launch; empty where that is not known.

        Args:
            values: of parameters whose names stand in the source.
            counters: of the program with these values; without them only the size of a block
                counts.
        """
        return next(self._refusals(values, counters), "")

    def _refusals(self, values: Mapping[str, Value], counters: Counters) -> Iterator[str]:
        for site in self.program.launches:
            threads = threads_of(site, values)
            if threads is None:
                continue
            launch = f"kernel '{site.kernel}' with {threads} threads per block"
            if threads > self.limits.threads_per_block:
                yield f"{launch}; the device has {self.limits.threads_per_block}"
            kernel = counters_of(site, counters)
            if kernel is None or threads < 1:
                continue
            dynamic = _value(site.resolved.shared, values) if site.resolved else None
            shared = kernel.static_shared_bytes + int(dynamic or 0)
            if shared > self.limits.shared_bytes_opt_in:
                most = self.limits.shared_bytes_opt_in
                yield f"{launch} and {shared} bytes of shared memory; the device has {most}"
            if not can_launch(BlockResources(threads, kernel.registers, 0), self.limits):
                # As they are allocated for a warp.
                each = -(-kernel.registers * WARP // REGISTER_UNIT) * REGISTER_UNIT // WARP
                warps = self.limits.registers_per_sm // SUB_PARTITIONS // (each * WARP)
                most = SUB_PARTITIONS * warps * WARP
                yield f"{launch} of {each} registers; the device has room for {most}"


def threads_of(site: LaunchSite, values: Mapping[str, Value]) -> int | None:
    """Return the threads per block of a launch, where they follow from values of parameters."""
    if site.resolved is None:
        return None
    sides = [_value(side, values) for side in site.resolved.block]
    known = [side for side in sides if side is not None]
    return int(prod(known)) if len(known) == len(sides) else None


def counters_of(site: LaunchSite, counters: Counters) -> StaticCounters | None:
    """Return the counters of a launch's kernel; of several instances the least of each."""
    named = [counters[entry] for entry in site.entries if entry in counters]
    found = named or [one for entry, one in counters.items() if base_name(entry) == site.kernel]
    if not found:
        return None
    shared = min(one.static_shared_bytes for one in found)
    return StaticCounters(min(one.registers for one in found), shared)


def _value(formula: Formula | None, values: Mapping[str, Value]) -> Fraction | None:
    return None if formula is None else constant(_with(formula, values))


def _with(formula: Formula, values: Mapping[str, Value]) -> Formula:
    """Replace the names that are certain to be parameters by their values."""
    match formula:
        case Name(text, key, value):
            chosen = values.get(text)
            # A name that no definition reaches may be that of another variable.
            is_parameter = isinstance(value, Number) or key in (f"macro {text}", f"constant {text}")
            if isinstance(chosen, int | Fraction) and is_parameter:
                return Number(Fraction(chosen))
            if text in values or value is None:
                return Name(text)
            return Name(text, key, _with(value, values))
        case HostOperation(operator, operands):
            return HostOperation(operator, tuple(_with(one, values) for one in operands))
        case Call(name, arguments):
            return Call(name, tuple(_with(one, values) for one in arguments))
        case Cast(type_, operand):
            return Cast(type_, _with(operand, values))
    return formula
