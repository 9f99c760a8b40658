"""What a naive tool makes of a constant, and the claims in the heads of programs."""

from __future__ import annotations

from tests.soundness.naive import Claim, Effect, claims_of, replaced

MACRO = """\
#define TILE 16
__global__ void scale(int *a) { __shared__ int s[TILE]; }
__global__ void other(int *a) { __shared__ int s[TILE]; }
int main() {
  int tiles = (n + TILE - 1) / TILE;
  scale<<<tiles, TILE>>>(a, n / TILE);
}
"""
CONSTANT = """\
constexpr int T = 8;
template <int N> __global__ void scale(int *a) { a[N] = T; }
int main() {
  const int m = 3;
  dim3 block(T, m), grid(f(n, T), 2);
  scale<T><<<grid, block>>>(a, T);
}
"""


HEAD = """\
// EXPECT: keep
// NAIVE: TILE in scale, load: 4, 8 same
// NAIVE: T in k: 32 differs at 100
// NAIVE: T in k: 32 is caught at 9
// NAIVE: T in k: 7 does not compile
// NAIVE: not shown: it waits for ever
"""


def test_claims() -> None:
    assert claims_of(HEAD) == [
        Claim("TILE", ("scale", "load"), (4, 8), Effect.SAME),
        Claim("T", ("k",), (32,), Effect.DIFFERS, 100),
        Claim("T", ("k",), (32,), Effect.CAUGHT, 9),
        Claim("T", ("k",), (7,), Effect.REFUSED),
    ]


def test_a_macro_is_another_in_the_kernel_and_its_configuration() -> None:
    other = "\n#undef TILE\n#define TILE 32\n"
    before, text = "\n#undef TILE\n#define TILE 16\n", MACRO
    kernel = "__global__ void scale(int *a) { __shared__ int s[TILE]; }"
    text = text.replace(kernel, other + kernel + before)
    launch = "scale<<<((n + TILE - 1) / TILE), TILE>>>"
    text = text.replace("scale<<<tiles, TILE>>>", other + launch + before)
    assert replaced(MACRO, Claim("TILE", ("scale",), (32,), Effect.SAME), 32) == text


def test_a_constant_is_another_value() -> None:
    text = CONSTANT.replace("a[N] = T", "a[N] = 4")
    launch = "scale<4><<<dim3(f(n, 4), 2), dim3(4, (3))>>>(a, T)"
    text = text.replace("scale<T><<<grid, block>>>(a, T)", launch)
    assert replaced(CONSTANT, Claim("T", ("scale",), (4,), Effect.SAME), 4) == text


def test_a_parameter_of_the_kernel_is_not_the_constant() -> None:
    text = CONSTANT.replace("int N", "int T")
    found = replaced(text, Claim("T", ("scale",), (4,), Effect.SAME), 4)
    assert "a[N] = T" in found and "scale<4><<<" in found
