"""Search spaces of the literature: parameters, conditions, numbers of configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cutune.space.annotation import Condition, Value
from cutune.space.parameter import read_option
from cutune.space.space import Space


@dataclass(frozen=True)
class Published:
    """One space; values as options have them. `sizes`: without and with its conditions."""

    sizes: tuple[int, int]
    parameters: Sequence[str]
    conditions: Sequence[str] = ()
    known: dict[str, Value] = field(default_factory=dict)


_SWITCH = "0,1"
_POWERS = ",".join(str(1 << e) for e in range(11))
_MULTIPLES = ",".join(map(str, range(32, 1025, 32)))

#: Tables 7 to 17 of the thesis on BAT. The number of GPUs is part of two of them.
_BAT = {
    "triad": Published(
        (40_960, 40_960),
        ["BLOCK_SIZE=1..1024", "WORK_PER_THREAD=1..10", "LOOP_UNROLL=0,1", "PRECISION=32,64"],
        ["BLOCK_SIZE <= device.threads"],
        {"device.threads": 1024},
    ),
    "md": Published(
        (20_480, 20_480),
        ["BLOCK_SIZE=1..1024", "PRECISION=32,64", "TEXTURE=0,1", "WORK_PER_THREAD=1..5"],
    ),
    "reduction": Published(
        (11 * 394_240 * 4 // 10, 394_240 * 4),
        [
            f"BLOCK_SIZE={_POWERS}",
            f"GRID_SIZE={_POWERS}",
            "PRECISION=32,64",
            "HOST=0..3",
            "DEVICE=0..3",
            "FAST=0,1",
            "REGISTERS=none,20,40,60,80,100,120",
            "GPUS=1..4",
            *(f"{name}={_SWITCH}" for name in ("UNROLL_1", "UNROLL_2", "TEXTURE")),
        ],
        ["BLOCK_SIZE != 32", "GPUS <= device.count"],
        {"device.count": 4},
    ),
    "sort": Published(
        (14_112, 1_728),
        [
            "SCAN_DATA=2,4,8",
            "SORT_DATA=2,4,8",
            "SCAN_BLOCK=16,32,64,128,256,512,1024",
            "SORT_BLOCK=16,32,64,128,256,512,1024",
            *(f"{name}={_SWITCH}" for name in ("UNROLL_LSB", "UNROLL_LOCAL")),
            *(f"{name}={_SWITCH}" for name in ("INLINE_LSB", "INLINE_SCAN", "INLINE_LOCAL")),
        ],
        [
            "SCAN_DATA * SCAN_BLOCK == SORT_DATA * SORT_BLOCK",
            "8 * SCAN_DATA * SCAN_BLOCK + 128 <= device.shared",
        ],
        {"device.shared": 48 << 10},
    ),
    "stencil2d": Published((4, 2), ["GPUS=1..4"], ["GPUS <= device.count"], {"device.count": 2}),
}

_GEMM_PARTS = [
    "VWM=1,2,4,8",
    "VWN=1,2,4,8",
    *(f"{name}={_SWITCH}" for name in ("STRM", "STRN", "SA", "SB")),
]
_GEMM_CONDITIONS = [
    "KWG % KWI == 0",
    *(f"{side}WG % ({side}DIM{other} * VW{side}) == 0" for side, other in ("MC", "NC", "MA", "NB")),
    *(f"KWG % floor(MDIMC * NDIMC / {other}) == 0" for other in ("MDIMA", "NDIMB")),
]


def _gemm(multiple: int) -> Published:
    """ATF's version: each value from 1 to a size that the tiles divide."""
    names = ("MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "KWI")
    tiles = [f"{multiple} % {name} == 0" for name in names[:3]]
    return Published(
        (multiple**8 * 256, 5_651_696),
        [*(f"{name}=1..{multiple}" for name in names), *_GEMM_PARTS],
        [*tiles, *_GEMM_CONDITIONS],
    )


SPACES = {
    **_BAT,
    "gemm of CLTune": Published(
        (1_327_104, 241_600),
        [
            *(f"{name}=16,32,64,128" for name in ("MWG", "NWG")),
            "KWG=16,32",
            *(f"{name}=8,16,32" for name in ("MDIMC", "NDIMC", "MDIMA", "NDIMB")),
            "KWI=2,8",
            *_GEMM_PARTS,
        ],
        _GEMM_CONDITIONS,
    ),
    "gemm of ATF": _gemm(32),
    "hotspot": Published(
        (22_200_000, 349_853),
        [
            f"X=1,2,4,8,16,{_MULTIPLES}",
            "Y=1,2,4,8,16,32",
            *(f"{name}=1..10" for name in ("TILE_X", "TILE_Y", "TIME", "UNROLL")),
            "POWER=0,1",
            "BLOCKS=0..4",
        ],
        [
            "X * Y >= 32 && X * Y <= 1024",
            "TIME % UNROLL == 0",
            "(X * TILE_X + 2 * TIME) * (Y * TILE_Y + 2 * TIME) * (2 + POWER) * 4 <= 49152",
            "BLOCKS == 0 || (X * TILE_X + 2 * TIME) * (Y * TILE_Y + 2 * TIME) * (2 + POWER) * 4"
            " * BLOCKS <= 102400",
        ],
    ),
    "dedispersion": Published(
        (123_863_040, 16_851_135),
        [
            f"X=1,2,4,8,{','.join(map(str, range(16, 513, 16)))}",
            f"Y={','.join(map(str, range(4, 129, 4)))}",
            *(f"{name}=1..16" for name in ("TILE_X", "TILE_Y")),
            *(f"{name}=0,1" for name in ("STRIDE_X", "STRIDE_Y")),
            f"UNROLL=0,{','.join(str(i) for i in range(1, 1537) if 1536 % i == 0)}",
            "BLOCKS=0..4",
        ],
        [
            "X * Y >= 32 && X * Y <= 1024",
            "TILE_X > 1 || STRIDE_X == 0",
            "TILE_Y > 1 || STRIDE_Y == 0",
        ],
    ),
}


def space_of(name: str) -> Space:
    """One of the spaces."""
    published = SPACES[name]
    conditions = map(Condition.read, published.conditions)
    return Space.of(map(read_option, published.parameters), conditions, published.known)
