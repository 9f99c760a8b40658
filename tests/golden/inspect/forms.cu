// Spellings of kernels and launches: templates, namespaces, macros, attributes, odd white space.
#define KERNEL __global__ void
#define ID(d) (blockIdx.d * blockDim.d + threadIdx.d)
#define N 1024
#define SAXPY saxpy
using index_t = int;
template <typename T, int Factor = 2>
__global__ void __launch_bounds__(256, 2) scale(index_t n, T *__restrict__ a) {
    const auto i = ID(x);
    if (i < n) a[i] = static_cast<T>(Factor) * a[i];
}
namespace linear {
namespace {
extern "C" __global__ __attribute__((used)) void saxpy(int n, float a, const float *x, float *y)
{
    for (auto i{blockIdx.x * blockDim.x + threadIdx.x}; i < n;) { y[i] += a * x[i]; return; }
}
}  // namespace
}  // namespace linear
KERNEL constant_bound(float (&a)[N]) {
    int2 p = make_int2(ID(x), ID(y));
    if (ID(x) < N) a[p.x] = p.y;
}
template <>
__global__ void scale<double, 2>(index_t n, double *a) {
    const auto i = ID(x);
    if (i < n) a[i] = 2 * a[i];
}
static const char *text = R"(not a launch: scale<<<1, 2>>>(3); { )" "\" scale<<<1, 2>>>(4);";
struct Runner {
    void run(int n, float *a) {
        auto go = [&] { scale<float><<<n / 64, 64>>>(n, a); };
        go();
    }
};
void run(int n, float *a, cudaStream_t s) {
    using namespace linear;
    scale<float, 4>
        << <n / 64, 64>> >(n, a);
    ::linear::saxpy<<<dim3(n / 64), dim3{64}, 0, s>>>(n, 2.0f, a, a);
    SAXPY<<<n / 64, 64>>> /* one
    */ (n, n < 3 ? 1 : 2, a, a);  // a<<<b, c>>>(d)
#if defined(OLD)
    scale<float><<<n / 64, 64>>>(n, a);
#else
    scale<<<n / 128, 128>>>(n, a);
#endif
}
