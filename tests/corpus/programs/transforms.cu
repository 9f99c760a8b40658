// Convolves by cuFFT, whose headers may not be there, and a kernel; compares with plain loops.
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

typedef std::complex<float> Complex;

extern "C" {
int cufftPlan1d(int *, int, int, int);
int cufftPlan2d(int *, int, int, int);
int cufftPlanMany(int *, int, int *, int *, int, int, int *, int, int, int, int);
int cufftExecR2C(int, float *, void *);
int cufftExecC2R(int, void *, float *);
int cufftExecC2C(int, void *, void *, int);
int cufftSetStream(int, cudaStream_t);
int cufftDestroy(int);
int cufftXtSetGPUs(int, int, int *);
}

enum { kComplex = 0x29, kFromReal = 0x2a, kToReal = 0x2c };

static int wrong = 0;

static void expect(bool is_right, const char *what) {
    if (!is_right) std::printf("wrong: %s\n", what);
    wrong += !is_right;
}

template <class T>
static T *sent(const std::vector<T> &values) {
    T *to = nullptr;
    cudaMalloc(&to, values.size() * sizeof(T));
    cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return to;
}

template <class T>
static std::vector<T> taken(const T *from, size_t count) {
    std::vector<T> values(count);
    cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
}

static bool near(Complex a, Complex b) { return std::abs(a - b) <= 1e-4f * (1 + std::abs(b)); }

__global__ void multiply(float2 *a, const float2 *b, int count, float by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float2 x = a[i], y = b[i];
    a[i] = make_float2((x.x * y.x - x.y * y.y) * by, (x.x * y.y + x.y * y.x) * by);
}

// Of a picture with a mask, around its edges.
static void convolution(int rows, int columns) {
    const int count = rows * columns, few = rows * (columns / 2 + 1);
    std::vector<float> picture(count), mask(count);
    for (int i = 0; i < count; i++) picture[i] = float(i * 7 % 11) - 5;
    mask[0] = 0.5f, mask[1] = 0.25f, mask[columns] = -2;
    float *a = sent(picture), *b = sent(mask);
    float2 *of_a = sent(std::vector<float2>(few)), *of_b = sent(std::vector<float2>(few));
    int there, back;
    expect(cufftPlan2d(&there, rows, columns, kFromReal) == 0, "a plan there");
    expect(cufftPlan2d(&back, rows, columns, kToReal) == 0, "a plan back");
    expect(cufftExecR2C(there, a, of_a) == 0 && cufftExecR2C(there, b, of_b) == 0, "there");
    multiply<<<(few + 127) / 128, 128>>>(of_a, of_b, few, 1.0f / count);
    expect(cufftExecC2R(back, of_a, a) == 0, "back");
    const std::vector<float> found = taken(a, count);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            const int left = (j + columns - 1) % columns, above = (i + rows - 1) % rows;
            const float sum = 0.5f * picture[i * columns + j] + 0.25f * picture[i * columns + left] -
                              2 * picture[above * columns + j];
            expect(near(found[i * columns + j], sum), "a convolution");
        }
    expect(cufftDestroy(there) == 0 && cufftDestroy(back) == 0, "cufftDestroy");
    expect(cufftExecR2C(there, a, of_a) == 1, "a plan that is destroyed");
}

// Of columns, which lie side by side, in a graph that is launched twice.
static void captured() {
    const int n = 5, columns = 3;
    std::vector<Complex> values(n * columns);
    for (int i = 0; i < n * columns; i++) values[i] = Complex(float(i * 5 % 7), float(i % 3));
    Complex *data = sent(values);
    int size = n, extent = n, plan;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamCreate(&stream);
    expect(cufftPlanMany(&plan, 1, &size, &extent, columns, 1, &extent, columns, 1, kComplex,
                         columns) == 0,
           "a plan of columns");
    cufftSetStream(plan, stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cufftExecC2C(plan, data, data, -1);
    cudaStreamEndCapture(stream, &graph);
    expect(taken(data, 1)[0] == values[0], "nothing is done while a graph is captured");
    cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0);
    cudaGraphLaunch(ready, stream), cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
    const std::vector<Complex> found = taken(data, values.size());
    // Twice is n times the values, backwards.
    for (int i = 0; i < n; i++)
        for (int j = 0; j < columns; j++)
            expect(near(found[i * columns + j],
                        float(n) * values[(n - i) % n * columns + j]),
                   "a transform in a graph");
    int device = 0;
    expect(cufftXtSetGPUs(plan, 1, &device) == 16, "not emulated");
}

int main() {
    convolution(6, 8);
    convolution(7, 53);
    captured();
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
