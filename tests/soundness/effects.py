"""What kernels leave behind: stores, updates, atomics, to places that no other thread stores to.

Takes a place (an expression that differs among the threads of a launch, below 32768) and values,
gives statements. Integer atomics on shared places are those whose result does not depend on the
order; floating-point ones add small integers, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.soundness.draws import Draw, fill

CAPACITY = 65536


@dataclass(frozen=True)
class Effect:
    """A statement over the place $P, a value $V, the id $i and a fresh name $N.

    Attributes:
        reads_own: it reads no place but its own, so that all pointers may be the same.
        is_atomic: threads may run twice without a race.
        view: how it sees the array; effects of one kernel see it alike, or places would overlap.
    """

    text: str
    weight: float = 1
    reads_own: bool = True
    is_atomic: bool = False
    view: str = "int"


EFFECTS = (
    Effect("out[$P] = $V;", 8),
    Effect("out[$P] += $V;", 3),
    Effect("out[$P] = in[$P] * 2 + $V;", 3),
    Effect("out[$P] = in[$P + 1] - in[$P] + $V;", 2, reads_own=False),
    Effect("if ($P > 0) out[$P] = in[$P - 1] ^ in[$P + 1] ^ ($V);", 2, reads_own=False),
    Effect("int $N = out[$P]; out[$P] = ($N & 1023) * 3 + $V;", 2),
    Effect("out[perm[$P]] = $V;", 2, reads_own=False, view="perm"),
    Effect("const int $N = perm[$P]; out[$N] = out[$N] + $V;", 1, reads_own=False, view="perm"),
    Effect("out[$P] = $V; aux[$P] = ($V) + 1;", 1, reads_own=False),
    Effect("aux[$P] = $V; out[$P] = aux[$P] + 1;", 1, reads_own=False),
    Effect("out[$P] = 1;", 1),
    Effect("*(out + $P) = $V;", 1),
    Effect("int *$N = out; $N += $P; *$N = $V;", 1),
    Effect("out += $P; *out = $V; out -= $P;", 1),
    Effect("int &$N = out[$P]; $N = $V; $N += 2;", 1),
    Effect("auto $N = out + ($P); $N[0] = $V;", 1),
    Effect("int *$N = ($P & 1) ? out : aux; $N[$P] = $V;", 1),
    Effect("(v > 0 ? out : aux)[$P] = $V;", 1),
    Effect("((int2 *)out)[$P] = make_int2($V, (int)$i);", 1, view="8"),
    Effect("((char *)out)[$P] = (char)($V);", 1, view="1"),
    Effect("((short *)out)[$P] = (short)($V);", 1, view="2"),
    Effect("((long long *)out)[$P] = (long long)($V) << 3;", 1, view="8"),
    Effect("struct $N { int a, b; }; (($N *)out)[$P] = {(int)($V), 4};", 1, view="8"),
    Effect("atomicExch(&out[$P], $V);", 1),
    Effect("atomicCAS(&out[$P], out[$P], $V);", 1),
    Effect("aux[$P] = atomicAdd(&out[$P], $V);", 1, reads_own=False),
    Effect("atomicMax(out + $P, $V);", 1),
    Effect("((volatile int *)out)[$P] = $V;", 0.5),
    Effect("__stcg(&out[$P], $V);", 0.5),
    Effect("__stcs(out + $P, __ldg(in + $P) + $V);", 0.5),
    Effect("memcpy(&out[$P], &in[$P], sizeof(int)); out[$P] ^= $V;", 0.5),
    Effect("g_out[$P] = $V;", 1),
    Effect("int *$N = g_out; $N[$P] += $V;", 0.5),
    Effect("int $N[4] = {1, 2, 3, 4}; $N[$i & 3] = $V; out[$P] = $N[0] + 2 * $N[1] + $N[3];", 1),
    Effect("int $N = 0; for (int t = 0; t < m; ++t) $N += in[($P + 5 * t) & 4095] ^ t; "
           "out[$P] = $N + $V;", 2, reads_own=False),
    Effect("for (int t = 0; t < ((int)$i & 7); ++t) out[$P] += t * ($V);", 1),
    Effect("int $N = 0; while ($N < ((int)$i & 3) + m) ++$N; out[$P] = $N + $V;", 1),
    Effect("out[$P] = c_table[$i & 15] + $V;", 1),
    Effect("out[$P] = s.n + s.side[$i & 1] + $V;", 1),
    Effect("assert(v < 1000000); out[$P] = $V;", 0.5),
    Effect("out[$P] = __float_as_int((float)($V) + 0.5f);", 1),
    Effect("out[$P] = (int)(sqrtf((float)(($i & 255) * 3)) * 8.0f) + $V;", 0.5),
    Effect("out[$P] = in2[perm[$P] & 4095] + $V;", 1, reads_own=False),
    Effect("if ((int)$i == 3) printf(\"$W %d\\n\", $V);\nout[$P] = 2;", 0.2),
)  # fmt: skip
#: On places that all threads share.
ATOMICS = (
    Effect("atomicAdd(&cnt[0], 1);", 3, is_atomic=True),
    Effect("atomicAdd(cnt + ($i & 7), ($V) & 255);", 2, is_atomic=True),
    Effect("atomicSub(&cnt[1], ($V) & 15);", 1, is_atomic=True),
    Effect("atomicMin(&cnt[2], $V);", 1, is_atomic=True),
    Effect("atomicMax(&cnt[3], $V);", 2, is_atomic=True),
    Effect("atomicOr(&cnt[4], 1 << (($V) & 31));", 1, is_atomic=True),
    Effect("atomicXor(&cnt[5], $V);", 2, is_atomic=True),
    Effect("atomicAnd(&cnt[6], ~(1 << ($i & 15)));", 1, is_atomic=True),
    Effect("atomicInc((unsigned *)&cnt[7], 100);", 1, is_atomic=True),
    Effect("atomicAdd(&cnt[9], atomicAdd(&cnt[8], 1));", 1, is_atomic=True),
    Effect("int $N = atomicAdd(&cnt[10], 1); atomicXor(&cnt[11], $N);", 1, is_atomic=True),
    Effect("if (atomicExch(&cnt[12], 1) == 0) atomicAdd(&cnt[13], 5);", 1, is_atomic=True),
    Effect("atomicCAS(&cnt[14], 0, 9);", 1, is_atomic=True),
    Effect("atomicAdd(&fl[0], 1.0f);", 1, is_atomic=True),
    Effect("atomicAdd(&fl[1 + ($i & 3)], (float)(($V) & 7));", 1, is_atomic=True),
    Effect("atomicAdd(&g_count, 1);", 1, is_atomic=True),
    Effect("atomicAdd((unsigned long long *)&cnt[16], (unsigned long long)(($V) & 63));", 1,
           is_atomic=True),
    Effect("cnt[18] = 1;", 1, is_atomic=True),
)  # fmt: skip
#: Threads of a warp that hand each other values in memory; warps must stay whole.
NEIGHBOURS = (
    "int $N = out[($i) ^ 1]; __syncwarp(); out[$i] = ($N & 255) + $V;",
    "int $N = out[(($i) & ~31) + ((($i) + 5) & 31)]; __syncwarp(); out[$i] = ($N & 255) + 1;",
    "\n#pragma unroll 1\nfor (int $N = 0; $N < 6; ++$N)\n"
    "if (((int)($i) & 31) + $N < 32) out[($i) + $N] = 5 * $N + $V;",
    "\n#pragma unroll 1\nfor (int $N = 0; $N < m; ++$N)\n"
    "if (((int)($i) & 31) + $N < 32) { out[($i) + $N] = ($V) + $N; __syncwarp(__activemask()); }",
    "if (($V) & 1) out[$i] = __popc(__activemask()) + $V;",
    "unsigned $N = __activemask(); out[$i] = __shfl_sync($N, (int)($V), 31 - __clz($N));",
    "unsigned $N = __ballot_sync(__activemask(), ($V) & 1); out[$i] = ($N & 255) + $V;",
)


def effects(draw: Draw, only_atomic: bool = False) -> list[Effect]:
    """One to three effects that do not meet each other's places."""
    usual = EFFECTS if draw.has("effect") else EFFECTS[:6]
    atomics = draw.has("atomic")
    first = _kind(draw, ATOMICS if only_atomic or (atomics and draw.chance(0.5)) else usual)
    count = draw.weighted([(6, 1), (3, 2), (1, 3)])
    alike = [each for each in usual if each.view == first.view]
    more = [_kind(draw, ATOMICS if only_atomic or atomics else alike) for _ in range(count - 1)]
    return [first, *more]


def _kind(draw: Draw, table: Sequence[Effect]) -> Effect:
    return draw.weighted([(each.weight, each) for each in table])


def written(draw: Draw, kind: Effect, place: str, value: str, variable: str, word: str) -> str:
    """The statements of an effect; `word` is printed by those that print."""
    names = {"P": f"({place})", "V": value, "i": f"({variable})", "N": draw.fresh("e"), "W": word}
    return fill(kind.text, **names)
