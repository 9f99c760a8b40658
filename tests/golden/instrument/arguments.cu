// Arguments whose copy needs care: braces, commas in templates, strings, static members.
struct Pair {
    int first, second;
};

template <class A, class B>
struct Tagged {
    A value;
    static const int size = 5;
};

template <class A, class B>
int twice(A a, B b) {
    return static_cast<int>(a + b);
}

__global__ void fill(int n, Pair pair, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = static_cast<float>(pair.first);
}

void run(int n, float *x) {
    fill<<<n / 32, 32>>>(n, {1, 2}, x);
    fill<<<n / 32, 32>>>(n, Pair{1, 2}, x);
    fill<<<n / 32, 32>>>(twice<int, long>(n, 1), Pair(), x);
    fill<<<n / 32, 32>>>(Tagged<int, float>::size, Pair(), x + 1);
    fill<<<n / 32, 32>>>(sizeof "a b", Pair(), &x[n > 3 ? 1 : 0]);
}
