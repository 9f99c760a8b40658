// Host code alone: not a byte changes.
#include <cstdio>

namespace shared {
template <typename T> T larger(T a, T b) { return a < b ? b : a; }
}  // namespace shared

int main() { std::printf("%d\n", shared::larger(1, 2)); }
