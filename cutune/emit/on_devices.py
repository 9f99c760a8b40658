"""The routines of one kernel on several devices, which share all but numbers.

Takes a fitted model and devices, gives routines and, per device, the call of its own. The code of a
rational program is most of a tuned program, and devices hardly differ in it (`family`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import Block
from cutune.emit.family import Family, families
from cutune.emit.model import emit_model
from cutune.emit.routine import Shared, preference, routine
from cutune.emit.tables import Tables
from cutune.fit.fitted_model import FittedModel
from cutune.models.candidates import launchable
from cutune.models.selection.registry import DEFAULT, MODELS, PerformanceModel
from cutune.models.selection.variants import Worthwhile, worthwhile_on

#: End of the name of what decides for a kernel itself, where it has variants.
PLAIN = "_plain"


def on_device(name: str, number: int) -> str:
    """The name of what only the device with this number has, and some behind it."""
    return f"{name}_on_{number}"


@dataclass(frozen=True)
class Decided:
    """The routines that decide for one kernel.

    Attributes:
        text: C++ of all routines.
        calls: per device, by its number, the call that decides; it reads `asked_` and `list_`, and,
            where there are several, the number of the device as `device_`.
        variants: those that are chosen somewhere.
    """

    text: str
    calls: Mapping[int, str]
    variants: frozenset[str]


def decided_together(
    judge: PerformanceModel,
    fitted: FittedModel,
    devices: Sequence[DeviceProfile],
    name: str,
    tables: Tables,
) -> Decided:
    """Routines of a kernel and its variants for all of these devices.

    On one device a kernel without variants has no other routine than its own, called NAME.
    """
    writer = _Writer(judge, devices, tables)
    able = {number: launchable(fitted, device) for number, device in enumerate(devices)}
    able = {number: model for number, model in able.items() if model.blocks}
    variants: dict[int, Sequence[Worthwhile]] = dict.fromkeys(able, ())
    # The published models compare blocks of one kernel only.
    if judge is MODELS[DEFAULT]:
        worth_each = worthwhile_on(fitted, [devices[number] for number in able])
        variants = dict(zip(able, worth_each, strict=True))
    alone = frozenset(number for number, worth in variants.items() if not worth)
    is_simple = len(devices) == 1 and len(alone) == len(able)
    plain = writer.routines(name if is_simple else f"{name}{PLAIN}", able, alone)
    of_variants = {
        variant: writer.routines(f"{name}_{variant}", models, ())
        for variant, models in _by_variant(variants).items()
    }
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, worth in variants.items():
        names = [of_variants[one.model.kernel.variant][number] for one in worth]
        groups.setdefault((plain[number], *names), []).append(number)
    calls: dict[int, str] = {}
    count, more = len(devices), ", device_" if len(devices) > 1 else ""
    is_first = True
    for (its_plain, *names), numbers in groups.items():
        decides = its_plain
        if names:
            decides = name if is_first else on_device(name, numbers[0])
            is_first = False
            sure = {n: tuple(float(one.sure_us) for one in variants[n]) for n in numbers}
            pairs = list(zip(variants[numbers[0]], names, strict=True))
            text = preference(fitted.kernel, decides, pairs, its_plain, sure, count, tables)
            writer.texts.append(text)
        calls |= dict.fromkeys(numbers, f"cutune_decide_{decides}(asked_, list_{more})")
    return Decided("".join(writer.texts), dict(sorted(calls.items())), frozenset(of_variants))


def _by_variant(
    variants: Mapping[int, Sequence[Worthwhile]],
) -> dict[str, dict[int, FittedModel]]:
    """Per variant its model on each device that it is worthwhile on."""
    models: dict[str, dict[int, FittedModel]] = {}
    for number, worth in variants.items():
        for one in worth:
            models.setdefault(one.model.kernel.variant, {})[number] = one.model
    return models


class _Writer:
    """Writes routines, each for as many devices as can share it."""

    def __init__(
        self, judge: PerformanceModel, devices: Sequence[DeviceProfile], tables: Tables
    ) -> None:
        self._judge, self._devices, self._tables = judge, devices, tables
        self.texts: list[str] = []

    def routines(
        self, name: str, models: Mapping[int, FittedModel], alone: Collection[int]
    ) -> dict[int, str]:
        """Write those of one kernel; the name of each device's. `alone`: where it decides."""
        by_blocks: dict[tuple[Block, ...], list[int]] = {}
        for number, model in models.items():
            by_blocks.setdefault(tuple(model.blocks), []).append(number)
        names: dict[int, str] = {}
        for numbers in by_blocks.values():
            programs = {n: self._judge.compose(models[n], self._devices[n]) for n in numbers}
            for family in families(programs):
                its_name = on_device(name, min(family.values)) if names else name
                self.texts.append(self._routine(family, models, its_name, alone))
                names |= dict.fromkeys(family.values, its_name)
        return names

    def _routine(
        self, family: Family, models: Mapping[int, FittedModel], name: str, alone: Collection[int]
    ) -> str:
        numbers = family.values.keys()
        rules = {n: self._judge.rule(models[n], self._devices[n]) for n in numbers}
        its_alone = frozenset(n for n in numbers if n in alone)
        shared = Shared(len(self._devices), rules, family.values, its_alone)
        model = models[min(numbers)]
        text = emit_model(family.program, name, self._tables, family.figures)
        return text + routine(model, name, self._tables, shared)
