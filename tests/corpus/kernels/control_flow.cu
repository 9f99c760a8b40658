// Threads of a warp on ways of their own: loops, switches, calls of all kinds, recursion.
#include "kernels.h"

BOTH(nested_loops, Words<3>, 1000) {
    u32 sum = 0, turns = 0, found = 0;
    for (u32 a = 0; a < i % 9; ++a) {
        if (a == word(i) % 11) continue;
        for (u32 b = a; b < 7 + (i & 3); ++b) {
            if ((a * b + i) % 13 == 0) break;
            u32 c = b;
            do {
                sum = sum * 31 + c;
                if (sum % 101 == 5) goto next;
                ++turns;
            } while (c-- > a);
        }
        ++found;
    next:;
    }
    return {{sum, turns, found}};
}

// A machine with an instruction set: a switch in a loop, jumps that depend on data.
BOTH(interpreter, Words<4>, 500) {
    u32 r[4] = {word(i, 0), word(i, 1) & 15, 0, i}, at = 0, steps = 0;
    static constexpr u8 code[] = {0x10, 0x51, 0x82, 0x23, 0x6d, 0x31,
                                  0x40, 0x72, 0x93, 0xa0, 0x52, 0x61};
    while (steps < 60) {
        const u8 op = code[at % sizeof code], x = op & 3, y = op >> 2 & 3;
        ++steps, ++at;
        switch (op >> 4) {
        case 1: r[x] += r[y] + 7; break;
        case 2: r[x] ^= r[y] << (r[1] & 7); break;
        case 3:
            if (r[1]-- & 8) at += 3;
            break;
        case 4: r[2] = r[2] * 3 + r[x]; [[fallthrough]];
        case 5: r[x] = r[x] >> 1 | r[x] << 31; break;
        case 6:
            if (r[x] & 1)
                at -= y;
            else
                r[y] += 5;
            break;
        case 7: r[3] = r[2] % 1000 == 3 ? r[0] : r[3] + 1; break;
        case 8:
            if (r[3] > 0x80000000) steps += 9;
            break;
        case 9: r[y] -= r[x]; break;
        default: at = (r[0] ^ r[3]) & 7;
        }
    }
    return {{r[0], r[1] ^ at, r[2], r[3]}};
}

HD u32 early(u32 i, u32 n) {
    if (n > 60) return 1;
    if (n & 1 && i & 2) return n * 7;
    for (u32 k = 0; k < n; ++k) {
        if (word(i, k) % 17 == 3) return k + 100;
        if (k == 20 && n > 40) return 5;
    }
    return n && i % n > 3 ? 11 : i;
}
BOTH(early_returns, Words<2>, 1000) { return {{early(i, i % 67), early(word(i), i / 16)}}; }

// Entered in the middle, with two ways around.
BOTH(jumps, Words<2>, 1000) {
    u32 x = word(i), n = 0;
    if (x & 1) goto inside;
top:
    x = x * 5 + 1;
    if (x & 4) goto out;
inside:
    x ^= x >> 3;
    if (++n < 12 + (i & 7)) goto top;
out:
    switch (n & 3) {
        do {
        case 0: x += 3; [[fallthrough]];
        case 1: x ^= 0x55; [[fallthrough]];
        case 2: x = x << 1 | x >> 31; [[fallthrough]];
        case 3: --n;
        } while (s32(n) > 0);
    }
    return {{x, n}};
}

__host__ __device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__host__ __device__ __noinline__ u64 towers(u32 n, u32 from, u32 to, u32 seed) {
    if (n == 0) return seed;
    const u64 first = towers(n - 1, from, 3 - from - to, seed + 1);
    return towers(n - 1, 3 - from - to, to, u32(first * 31 + n * 9 + from * 3 + to)) ^ first << 20;
}
__host__ __device__ __noinline__ bool even(u32 n);
__host__ __device__ __noinline__ bool odd(u32 n) { return n != 0 && even(n - 1); }
__host__ __device__ __noinline__ bool even(u32 n) { return n == 0 || odd(n - 1); }
BOTH(recursion, Longs<3>, 200) {
    return {{ackermann(i % 3, i % 5), towers(i % 6, 0, 2, i), u64(even(i % 37)) * 2 + odd(i % 11)}};
}

PREPARE(recursion) { succeed(cudaDeviceSetLimit(cudaLimitStackSize, 16384), "stack"); }

// Partitions on a stack of its own: each thread sorts its array.
BOTH(quick_sort, Words<24>, 200) {
    u32 a[24], stack[64], top = 0;
    for (u32 k = 0; k < 24; ++k) a[k] = word(i, k) % (i % 3 ? 1000 : 10);
    stack[top++] = 0, stack[top++] = 23;
    while (top) {
        const s32 high = s32(stack[--top]), low = s32(stack[--top]);
        const u32 pivot = a[(low + high) / 2];
        s32 l = low, h = high;
        while (l <= h) {
            while (a[l] < pivot) ++l;
            while (a[h] > pivot) --h;
            if (l <= h) {
                const u32 held = a[l];
                a[l++] = a[h], a[h--] = held;
            }
        }
        if (low < h) stack[top++] = u32(low), stack[top++] = u32(h);
        if (l < high) stack[top++] = u32(l), stack[top++] = u32(high);
    }
    Words<24> r;
    for (u32 k = 0; k < 24; ++k) r.at[k] = a[k];
    return r;
}

// Queens on a board whose first two columns the thread's number says.
BOTH(back_tracking, u32, 64) {
    const u32 n = 8;
    u32 rows[8] = {i / 8, i % 8}, solutions = 0;
    const auto attacked = [&](u32 c) {
        for (u32 k = 0; k < c; ++k)
            if (rows[k] == rows[c] || rows[k] + c - k == rows[c] || rows[k] == rows[c] + c - k)
                return true;
        return false;
    };
    if (attacked(1)) return ~0u;
    u32 c = 2;
    while (true) {
        while (rows[c] < n && attacked(c)) ++rows[c];
        if (rows[c] < n && c + 1 < n) {
            rows[++c] = 0;
            continue;
        }
        if (rows[c] < n)
            ++solutions;
        else if (--c < 2)
            break;
        ++rows[c];
    }
    return solutions;
}

using Function = u32 (*)(u32, u32);
__device__ u32 added(u32 a, u32 b) { return a + b; }
__device__ u32 multiplied(u32 a, u32 b) { return a * (b | 1); }
__device__ u32 turned(u32 a, u32 b) { return a << (b & 31) | a >> (-b & 31); }
__device__ u32 looped(u32 a, u32 b) {
    for (u32 k = 0; k < (b & 7); ++k) a = a * 3 + k;
    return a;
}
static __device__ Function table[4] = {added, multiplied, turned, looped};
KERNEL(function_pointers, u32, 600, 5, 120, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = i;
    Function last = i & 1 ? added : turned;
    for (u32 k = 0; k < 9; ++k) {
        const Function f = table[word(i, k) & 3];
        x = f(x, word(i, k + 50));
        if (k % 4 == 3) x = last(x, k), last = f;
    }
    out[i] = x;
}
EXPECT(function_pointers) {
    const auto call = [](u32 which, u32 a, u32 b) {
        if (which == 0) return a + b;
        if (which == 1) return a * (b | 1);
        if (which == 2) return a << (b & 31) | a >> (-b & 31);
        for (u32 k = 0; k < (b & 7); ++k) a = a * 3 + k;
        return a;
    };
    for (u32 i = 0; i < 600; ++i) {
        u32 x = i, last = i & 1 ? 0 : 2;
        for (u32 k = 0; k < 9; ++k) {
            const u32 f = word(i, k) & 3;
            x = call(f, x, word(i, k + 50));
            if (k % 4 == 3) x = call(last, x, k), last = f;
        }
        want[i] = x;
    }
}

struct Shape {
    u32 id;
    HD explicit Shape(u32 n) : id(n) {}
    __host__ __device__ virtual u32 area() const { return id; }
    __host__ __device__ virtual void grow(u32 by) = 0;
    __host__ __device__ virtual ~Shape() {}
};
struct Square : Shape {
    u32 side;
    HD explicit Square(u32 n) : Shape(n), side(n % 10 + 1) {}
    __host__ __device__ u32 area() const override { return side * side + Shape::area(); }
    __host__ __device__ void grow(u32 by) override { side += by; }
};
struct Box : Square {
    u32 depth = 3;
    HD explicit Box(u32 n) : Square(n) {}
    __host__ __device__ u32 area() const override { return 2 * Square::area() + 4 * side * depth; }
    __host__ __device__ void grow(u32 by) override {
        Square::grow(by);
        depth ^= by;
    }
};
struct Line final : Shape {
    HD explicit Line(u32 n) : Shape(n) {}
    __host__ __device__ void grow(u32 by) override { id += by; }
};
BOTH(virtual_calls, u32, 500) {
    Square square(i);
    Box box(i + 1);
    Line line(i + 2);
    Shape *shapes[] = {&square, &box, &line};
    u32 sum = 0;
    for (u32 k = 0; k < 7; ++k) {
        Shape *s = shapes[word(i, k) % 3];
        s->grow(k + 1);
        sum = sum * 7 + s->area();
    }
    return sum;
}

// Lists and trees from the heap of the device.
struct Node {
    u32 key;
    Node *left, *right;
};
KERNEL(heap_trees, Words<12>, 64, 2, 32, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    Node *root = nullptr;
    for (u32 k = 0; k < 12; ++k) {
        Node **at = &root;
        const u32 key = word(i, k) % 1000;
        while (*at) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
        *at = new Node{key, nullptr, nullptr};
    }
    Node *stack[12];
    u32 depth = 0, n = 0;
    for (Node *at = root; at || depth;) {
        for (; at; at = at->left) stack[depth++] = at;
        at = stack[--depth];
        out[i].at[n++] = at->key;
        Node *right = at->right;
        delete at;
        at = right;
    }
}
EXPECT(heap_trees) {
    for (u32 i = 0; i < 64; ++i)
        for (u32 k = 0; k < 12; ++k) {
            u32 key = word(i, k) % 1000, at = k;
            for (; at && want[i].at[at - 1] > key; --at) want[i].at[at] = want[i].at[at - 1];
            want[i].at[at] = key;
        }
}

template <int N> struct Power {
    template <class T> static HD T of(T x) { return x * Power<N - 1>::of(x); }
};
template <> struct Power<0> {
    template <class T> static HD T of(T) { return T(1); }
};
template <class First, class... Rest> HD u64 folded(First first, Rest... rest) {
    if constexpr (sizeof...(rest) > 0)
        return u64(first) * 3 + folded(rest...);
    else
        return u64(first);
}
template <class F, class G> HD auto composed(F f, G g) {
    return [=](auto x) { return g(f(x)); };
}
BOTH(templates, Longs<4>, 500) {
    const auto add = [i](u32 x) { return x + i; };
    const auto square = [](u32 x) { return x * x; };
    u64 total = 0;
    const auto each = [&](auto... values) { ((total = total * 5 + u64(values)), ...); };
    each(i, u8(i), s64(i) - 400, i > 3);
    return {{Power<7>::of(u64(i)), folded(i, u16(i * 77), s8(i), u64(i) << 33),
             composed(add, square)(i ^ 5), total}};
}

// Warps of which lanes and whole warps leave early, and a block that is no multiple of a warp.
KERNEL(early_exits, u32, 5 * 83, 5, 83, 0) {
    const u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    out[i] = i;
    if (t / 32 == blockIdx.x % 3) return;
    if ((t * 7 + blockIdx.x) % 5 == 2) return;
    u32 x = 1;
    for (u32 k = 0; k < 40; ++k) {
        x = x * 5 + t;
        if (x % 23 == k % 23) {
            out[i] = x;
            return;
        }
    }
    out[i] = ~x;
}
EXPECT(early_exits) {
    for (u32 b = 0; b < 5; ++b)
        for (u32 t = 0; t < 83; ++t) {
            u32 &result = want[b * 83 + t] = b * 83 + t, x = 1, k = 0;
            if (t / 32 == b % 3 || (t * 7 + b) % 5 == 2) continue;
            for (; k < 40; ++k)
                if ((x = x * 5 + t) % 23 == k % 23) break;
            result = k < 40 ? x : ~x;
        }
}
