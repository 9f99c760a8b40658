// Rows that a block keeps in shared memory behind the slots of its sums, loops with two tests, and
// what other blocks would do.
//
// A section says what is proven of its kernels, as tests/unit/proof/test_rows_beside_sums.py asks.
#define D blockDim.x
#define T threadIdx.x
#define WAIT __syncthreads();
#define EACH for (int j = t; j < n; j += D)
#define BREAK for (int c0 = 0; c0 < n; c0 += D) { int j = c0 + t; if (j >= n) break;
#define IF for (int c0 = 0; c0 < n; c0 += D) { int j = c0 + t; if (j < n) {
#define SLOTS(name, neutral, join) \
    __device__ float name(float s, float *w) { \
        for (int o = 16; o; o >>= 1) s = join(s, __shfl_xor_sync(~0u, s, o)); \
        if (D > 32) { \
            if (T % 32 == 0) w[T / 32] = s; \
            WAIT \
            s = T % 32 < D / 32 ? w[T % 32] : neutral; \
            for (int o = 16; o; o >>= 1) s = join(s, __shfl_xor_sync(~0u, s, o)); \
        } \
        return s; \
    }
#define PLUS(a, b) ((a) + (b))
SLOTS(most, -INFINITY, fmaxf)
SLOTS(sum, 0, PLUS)
#define ROW(begin) \
    extern __shared__ float w[]; float *v = w + begin; int t = T; \
    b += blockIdx.x * n; a += blockIdx.x * n; float s = -INFINITY, q = 0;
#define FILL EACH { v[j] = b[j] * 2; s = fmaxf(s, v[j]); } s = most(s, w);
#define POWERS EACH { v[j] = expf(v[j] - s); q += v[j]; }
#define DIVIDE EACH a[j] = v[j] / q;
#define TREE \
    __shared__ float w[1024]; int t = T; \
    for (int r = blockIdx.x; r < m; r += gridDim.x) { \
        float s = 0; EACH s += b[r * n + j]; \
        w[t] = s; WAIT
#define HALVES(end) for (int k = D / 2; k > end; k /= 2) { if (t < k) w[t] += w[t + k]; WAIT }
__device__ void most_at(float *a, float s) {
    int *p = (int *)a, old = *p, assumed;
    do {
        assumed = old;
        old = atomicCAS(p, assumed, __float_as_int(fmaxf(s, __int_as_float(assumed))));
    } while (assumed != old);
}
#define VALUE __shared__ float w[32]; int t = T, i = blockIdx.x * D + t; float s = b[i];
#define DOWN for (int o = 16; o; o >>= 1) s = fmaxf(s, __shfl_down_sync(~0u, s, o));
#define BOUNDED(here, last) \
    DOWN if (t % 32 == 0) w[t / 32] = s; WAIT \
    if (t < 32) { s = t < D / 32 ? w[t] : t < 16 ? here : last; DOWN }
#define KERNEL(name) \
    extern "C" __global__ void name(float *a, const float *b, int n, int m, int *c)

// ---- behind
// Right with blocks of any number of whole warps, if the launch asks for 128 bytes.
KERNEL(softmax) { ROW(32) FILL POWERS WAIT q = sum(q, w); DIVIDE }
KERNEL(further) { ROW(40) FILL POWERS WAIT q = sum(q, w); DIVIDE }
KERNEL(with_breaks) {
    ROW(32)
    BREAK v[j] = b[j] * 2; s = fmaxf(s, v[j]); }
    s = most(s, w);
    BREAK v[j] = expf(v[j] - s); q += v[j]; }
    WAIT
    q = sum(q, w);
    BREAK a[j] = v[j] / q; }
}
KERNEL(of_two_loops) {
    ROW(32)
    if (c) BREAK v[j] = b[j] + c[j]; s = fmaxf(s, v[j]); }
    else EACH { v[j] = b[j] * 2; s = fmaxf(s, v[j]); }
    s = most(s, w);
    POWERS WAIT q = sum(q, w); DIVIDE
}

// ---- two_tests
// Right with blocks of any number of whole warps; no shared memory is asked for.
KERNEL(breaks) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    BREAK s = fmaxf(s, b[blockIdx.x * n + j]); } s = most(s, w);
    BREAK a[blockIdx.x * n + j] = s; }
}
KERNEL(guarded) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    IF s = fmaxf(s, b[blockIdx.x * n + j]); } } s = most(s, w);
    IF a[blockIdx.x * n + j] = s; } }
}
KERNEL(one_or_other) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    if (m) EACH s = fmaxf(s, b[blockIdx.x * n + j]); else EACH s = fmaxf(s, -b[j]);
    s = most(s, w); EACH a[blockIdx.x * n + j] = s;
}

// ---- powers
// Right with blocks of powers of two: thread 0 alone uses a sum before it writes the next one.
KERNEL(rows_of_a_grid) { TREE HALVES(0) if (t == 0) a[r] = 1 + w[0]; } }

// ---- bounded
// Right with blocks of whole warps but for 1024 threads, whose lanes all have a slot: there no slot
// that nobody wrote stands for a number.
KERNEL(most_of_all) { VALUE BOUNDED(-3e38f, -3e38f) if (t == 0) most_at(a, s); }
KERNEL(most_of_ids) { VALUE s = i < n ? b[i] : -1e30f; BOUNDED(-3e38f, -3e38f) if (t == 0) most_at(a, s); }

// ---- wrong
KERNEL(bounded_by_width) { VALUE BOUNDED(-1.f * D, -1.f * D) if (t == 0) most_at(a, s); }
KERNEL(bounded_by_data) { VALUE BOUNDED(b[n], b[n + t]) if (t == 0) most_at(a, s); }
KERNEL(adds_most) { VALUE BOUNDED(-3e38f, -3e38f) if (t == 0) atomicAdd(a, s); }
KERNEL(scaled_between) { VALUE s = s * -2; BOUNDED(-3e38f, -3e38f) if (t == 0) most_at(a, -s); }
KERNEL(stores_most) { VALUE BOUNDED(-3e38f, -3e38f) if (t == 0) a[blockIdx.x] = s; }
KERNEL(adds_ones) {
    VALUE for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if (t % 32 == 0) w[t / 32] = s; WAIT
    if (t < 32) { s = t < D / 32 ? w[t] : 1; for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o); }
    if (t == 0) atomicAdd(a, s);
}
KERNEL(begins_in_slots) { ROW(31) FILL POWERS WAIT q = sum(q, w); DIVIDE }
KERNEL(begins_before) { ROW(-1) FILL POWERS WAIT q = sum(q, w); DIVIDE }
KERNEL(races_with_slots) { ROW(32) FILL POWERS q = sum(q, w); DIVIDE }
KERNEL(reads_neighbours) { ROW(32) FILL WAIT EACH q += v[j ? j - 1 : 0]; WAIT q = sum(q, w); DIVIDE }
KERNEL(reads_first) { ROW(32) FILL WAIT q = v[0]; DIVIDE }
KERNEL(reads_by_thread) { ROW(32) FILL WAIT EACH a[j] = v[t]; }
KERNEL(reads_slots_as_row) { ROW(32) FILL WAIT EACH a[j] = w[j]; }
KERNEL(other_end) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    for (int c0 = 0; c0 < m; c0 += D) { int j = c0 + t; if (j >= n) break; s = fmaxf(s, b[j]); }
    s = most(s, w); EACH a[j] = s;
}
KERNEL(longer_steps) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    for (int c0 = 0; c0 < n; c0 += 2 * D) { int j = c0 + t; if (j >= n) break; s = fmaxf(s, b[j]); }
    s = most(s, w); EACH a[j] = s;
}
KERNEL(not_from_threads) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    for (int c0 = 0; c0 < n; c0 += D) { int j = c0 + m; if (j >= n) break; s = fmaxf(s, b[j + t]); }
    s = most(s, w); EACH a[j] = s;
}
KERNEL(counts_rounds) {
    __shared__ float w[32]; int t = T; float s = 0;
    IF s += b[j]; } s += 1; }
    s = sum(s, w); EACH a[j] = s;
}
KERNEL(goes_back_without_an_element) {
    __shared__ float w[32]; int t = T; float s = 0;
    for (int c0 = 0; c0 < n; c0 -= D) { int j = c0 + t; if (j < n) { s += b[j]; c0 += 2 * D; } }
    s = sum(s, w); EACH a[j] = s;
}
KERNEL(leaves_the_index) {
    __shared__ float w[32]; int t = T, j = 0; float s = -INFINITY;
    for (int c0 = 0; c0 < n; c0 += D) { j = c0 + t; if (j >= n) break; s = fmaxf(s, b[j]); }
    a[j] = s;
}
KERNEL(does_more_before) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    for (int c0 = 0; c0 < n; c0 += D) { int j = c0 + t; atomicAdd(c, 1); if (j >= n) break; s = fmaxf(s, b[j]); }
    s = most(s, w); EACH a[j] = s;
}
KERNEL(waits_in_some) {
    __shared__ float w[32]; int t = T; float s = -INFINITY;
    IF s = fmaxf(s, b[j]); } WAIT }
    s = most(s, w); EACH a[j] = s;
}
KERNEL(sums_or_most) {
    __shared__ float w[32]; int t = T; float s = 0;
    if (m) EACH s = fmaxf(s, b[j]); else EACH s += b[j];
    s = most(s, w); EACH a[j] = s;
}
KERNEL(begins_otherwise) {
    __shared__ float w[32]; int t = T; float s;
    if (m) { s = 0; EACH s += b[j]; } else { s = 1; EACH s += c[j]; }
    s = sum(s, w); EACH a[j] = s;
}
KERNEL(all_read_the_sum) { TREE HALVES(0) if (t < 32) a[r * 32 + t] = 1 + w[0]; } }
KERNEL(reads_what_others_write) { TREE HALVES(1) if (t == 0) a[r] = w[0] + w[1]; } }
