// Launches in a template, a lambda, a method and behind a label.
template <class T>
__global__ void copy(int n, const T *a, T *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i];
}

namespace deep {
__global__ void clear(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0.0f;
}
}  // namespace deep

template <class T>
void copy_all(int n, const T *a, T *b) {
    copy<<<(n + 63) / 64, 64>>>(n, a, b);
    copy<T><<<(n + 63) / 64, 64>>>(n, a, b);
}

struct Runner {
    int n;
    float *x;
    void run() const { deep::clear<<<(n + 63) / 64, 64>>>(n, x); }
};

void run(int n, float *x, float *y) {
    auto later = [=] { copy<float><<<(n + 63) / 64, 64>>>(n, x, y); };
    later();
    copy_all(n, x, y);
    Runner{n, x}.run();
again:
    deep::clear<<<(n + 63) / 64, 64>>>(n, x);
    if (n-- > 1) goto again;
}
