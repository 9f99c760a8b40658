"""Device code that an earlier call has got. Takes what is compiled, gives PTX.

Who changes host code alone leaves the device code as it is; that this is so, only the compiler can
tell. So the earlier code is assumed first, and whoever assumes it compares what the compiler then
makes of the result: see `tuning/nvcc/earlier_builds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from cutune.toolchain.device_code import DeviceCode

#: What is compiled where it is the source itself.
SOURCE = "source"
Codes = Mapping[str, Future[DeviceCode]]
"""Device code by architecture."""


class NoEarlierCode(Exception):
    """The earlier call has not compiled what is asked for: nothing can be assumed."""


@dataclass(frozen=True)
class EarlierCode:
    """The PTX of an earlier call, and of this one, by what was compiled and the architecture.

    `known`: None: nothing is assumed; what is compiled is noted.
    """

    known: Mapping[str, str] | None = None
    _noted: dict[str, Future[DeviceCode]] = field(default_factory=dict)

    def codes(self, about: str, names: Iterable[str], begin: Callable[[], Codes]) -> Codes:
        """Return the code of each architecture. Raises NoEarlierCode."""
        if self.known is None:
            codes = begin()
            self._noted.update({_place(about, name): code for name, code in codes.items()})
            return codes
        return {name: _done(self._earlier(_place(about, name))) for name in names}

    def _earlier(self, place: str) -> str:
        if self.known is None or place not in self.known:
            raise NoEarlierCode(place)
        return self.known[place]

    def found(self) -> dict[str, str]:
        """What a later call may assume. Raises CT701 where something did not compile."""
        if self.known is not None:
            return dict(self.known)
        return {place: code.result().ptx for place, code in self._noted.items()}


def _place(about: str, architecture: str) -> str:
    return f"{about} {architecture}"


def _done(ptx: str) -> Future[DeviceCode]:
    code = Future[DeviceCode]()
    code.set_result(DeviceCode(ptx))
    return code
