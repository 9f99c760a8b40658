// Calls cuBLAS, cuBLASLt and cuRAND, whose headers may not be there, and compares with plain loops.
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

struct cublasContext;
struct curandGenerator_st;
typedef cublasContext *Blas;
typedef curandGenerator_st *Rand;
typedef std::complex<float> Complex;

extern "C" {
int cublasCreate_v2(Blas *);
int cublasDestroy_v2(Blas);
int cublasSetStream_v2(Blas, cudaStream_t);
int cublasSetPointerMode_v2(Blas, int);
int cublasSetMatrix(int, int, int, const void *, int, void *, int);
int cublasSgemm_v2(Blas, int, int, int, int, int, const float *, const float *, int, const float *,
                   int, const float *, float *, int);
int cublasCgemm_v2(Blas, int, int, int, int, int, const Complex *, const Complex *, int,
                   const Complex *, int, const Complex *, Complex *, int);
int cublasSgemmStridedBatched(Blas, int, int, int, int, int, const float *, const float *, int,
                              long long, const float *, int, long long, const float *, float *, int,
                              long long, int);
int cublasGemmEx(Blas, int, int, int, int, int, const void *, const void *, int, int, const void *,
                 int, int, const void *, void *, int, int, int, int);
int cublasDgemv_v2(Blas, int, int, int, const double *, const double *, int, const double *, int,
                   const double *, double *, int);
int cublasStrsm_v2(Blas, int, int, int, int, int, int, const float *, const float *, int, float *,
                   int);
int cublasSaxpy_v2(Blas, int, const float *, const float *, int, float *, int);
int cublasSdot_v2(Blas, int, const float *, int, const float *, int, float *);
int cublasSnrm2_v2(Blas, int, const float *, int, float *);
int cublasIsamax_v2(Blas, int, const float *, int, int *);
int cublasSgelsBatched(Blas, int);
int cublasLtCreate(Blas *);
int cublasLtMatmulDescCreate(void **, int, int);
int cublasLtMatmulDescSetAttribute(void *, int, const void *, size_t);
int cublasLtMatrixLayoutCreate(void **, int, unsigned long long, unsigned long long, long long);
int cublasLtMatrixLayoutSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmul(Blas, void *, const void *, const void *, void *, const void *, void *,
                   const void *, const void *, void *, void *, void *, const void *, void *, size_t,
                   cudaStream_t);
int curandCreateGenerator(Rand *, int);
int curandSetPseudoRandomGeneratorSeed(Rand, unsigned long long);
int curandGenerateUniform(Rand, float *, size_t);
int curandGenerateNormalDouble(Rand, double *, size_t, double, double);
int curandGeneratePoisson(Rand, unsigned *, size_t, double);
int curandDestroyGenerator(Rand);
}

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

static bool near(double a, double b) { return std::fabs(a - b) <= 1e-4 * (1 + std::fabs(b)); }

static void products(Blas blas) {
    const int m = 5, n = 4, k = 3, lda = 7, ldb = 6, ldc = 8;
    std::vector<float> a(2 * 7 * 7), b(2 * 7 * 7), c(2 * 8 * 4, 100);
    for (size_t i = 0; i < a.size(); i++) a[i] = float(i * 7 % 11) - 5, b[i] = float(i * 5 % 13) - 6;
    const float alpha = 2, beta = 0.5f;
    for (int ta = 0; ta < 2; ta++)
        for (int tb = 0; tb < 2; tb++) {
            float *pa = sent(a), *pb = sent(b), *pc = sent(c);
            expect(cublasSgemmStridedBatched(blas, ta, tb, m, n, k, &alpha, pa, lda, 49, pb, ldb, 49,
                                             &beta, pc, ldc, 32, 2) == 0,
                   "status of sgemmStridedBatched");
            const std::vector<float> got = taken(pc, c.size());
            for (int each = 0; each < 2; each++)
                for (int j = 0; j < n; j++)
                    for (int i = 0; i < ldc; i++) {
                        double sum = 0;
                        for (int p = 0; p < k; p++)
                            sum += a[49 * each + (ta ? i * lda + p : p * lda + i) % 49] *
                                   b[49 * each + (tb ? p * ldb + j : j * ldb + p)];
                        const double wanted = i < m ? 2 * sum + 50 : 100;
                        expect(near(got[32 * each + j * ldc + i], wanted), "sgemmStridedBatched");
                    }
            cudaFree(pa), cudaFree(pb), cudaFree(pc);
        }
    const Complex one(1, 0), none(0, 0);
    Complex *x = sent(std::vector<Complex>{{1, 2}, {3, -1}}), *z = sent(std::vector<Complex>(1));
    cublasCgemm_v2(blas, 2, 0, 1, 1, 2, &one, x, 2, x, 2, &none, z, 1);
    expect(std::abs(taken(z, 1)[0] - Complex(15, 0)) < 1e-5f, "cgemm of a conjugate");
    // Halves of 1.5 and -2, summed up as floats.
    unsigned short *h = sent(std::vector<unsigned short>{0x3e00, 0xc000});
    float *sum = sent(std::vector<float>(1, NAN));
    const float unit = 1, zero = 0;
    cublasGemmEx(blas, 1, 0, 1, 1, 2, &unit, h, 2, 2, h, 2, 2, &zero, sum, 0, 1, 68, -1);
    expect(taken(sum, 1)[0] == 6.25f, "gemmEx of halves");
}

static void others(Blas blas) {
    double *matrix = sent(std::vector<double>{1, 2, 3, 4, 5, 6}), *v = sent(std::vector<double>{1, 1});
    double *u = sent(std::vector<double>(3));
    const double one = 1, none = 0;
    cublasDgemv_v2(blas, 0, 3, 2, &one, matrix, 3, v, 1, &none, u, 1);
    expect(taken(u, 3) == std::vector<double>({5, 7, 9}), "dgemv");
    const float half = 0.5f;
    float *lower = sent(std::vector<float>{2, 1, 77, 4}), *x = sent(std::vector<float>{4, 10});
    cublasStrsm_v2(blas, 0, 0, 0, 0, 2, 1, &half, lower, 2, x, 2);
    expect(taken(x, 2) == std::vector<float>({1, 1}), "strsm");
    float *y = sent(std::vector<float>{1, -7, 3, 2}), result = 0;
    int place = 0;
    cublasSdot_v2(blas, 2, y, 2, y + 1, -2, &result);
    expect(result == 1 * 2 + 3 * -7, "sdot of a negative step");
    cublasIsamax_v2(blas, 4, y, 1, &place);
    expect(place == 2, "isamax");
    float *on_device = sent(std::vector<float>(1));
    cublasSetPointerMode_v2(blas, 1);
    cublasSnrm2_v2(blas, 2, y + 2, 1, on_device);
    cublasSetPointerMode_v2(blas, 0);
    expect(near(taken(on_device, 1)[0], std::sqrt(13.0)), "snrm2 into the device");
    float host[6] = {1, 2, 3, 4, 5, 6};
    cublasSetMatrix(2, 2, 4, host, 3, y, 2);
    expect(taken(y, 4) == std::vector<float>({1, 2, 4, 5}), "setMatrix");
}

// A row of 2 by a matrix of 2 x 2 in order of rows, with a bias and a rectifier behind it.
static void described() {
    Blas light;
    void *product, *row, *square;
    const int in_float = 68, in_rows = 1, with_bias_and_relu = 6;
    expect(cublasLtCreate(&light) == 0, "cublasLtCreate");
    cublasLtMatmulDescCreate(&product, in_float, 0);
    cublasLtMatrixLayoutCreate(&row, 0, 1, 2, 1);
    cublasLtMatrixLayoutCreate(&square, 0, 2, 2, 2);
    cublasLtMatrixLayoutSetAttribute(square, 1, &in_rows, sizeof in_rows);
    const float *bias = sent(std::vector<float>{10}), one = 1, none = 0;
    cublasLtMatmulDescSetAttribute(product, 7, &with_bias_and_relu, 4);
    cublasLtMatmulDescSetAttribute(product, 8, &bias, sizeof bias);
    float *x = sent(std::vector<float>{1, 2}), *m = sent(std::vector<float>{1, 2, 3, -9});
    float *y = sent(std::vector<float>(2));
    const int status = cublasLtMatmul(light, product, &one, x, row, m, square, &none, y, row, y, row,
                                      nullptr, nullptr, 0, nullptr);
    expect(status == 0 && taken(y, 2) == std::vector<float>({17, 0}), "cublasLtMatmul");
    const int of_another = 40;
    expect(cublasLtMatmulDescSetAttribute(product, of_another, &one, 4) == 15, "an attribute");
}

static void captured(Blas blas) {
    float *x = sent(std::vector<float>{1, 2}), *y = sent(std::vector<float>{0, 0});
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamCreate(&stream);
    cublasSetStream_v2(blas, stream);
    const float one = 1;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cublasSaxpy_v2(blas, 2, &one, x, 1, y, 1);
    cudaStreamEndCapture(stream, &graph);
    expect(taken(y, 2) == std::vector<float>({0, 0}), "nothing is done while a graph is captured");
    cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0);
    cudaGraphLaunch(ready, stream), cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
    expect(taken(y, 2) == std::vector<float>({2, 4}), "a graph does it each time");
    cublasSetStream_v2(blas, nullptr);
}

static void numbers() {
    const int n = 20000;
    Rand rand;
    float *uniform = sent(std::vector<float>(n));
    double *normal = sent(std::vector<double>(n));
    unsigned *events = sent(std::vector<unsigned>(n));
    expect(curandCreateGenerator(&rand, 100) == 0, "curandCreateGenerator");
    curandSetPseudoRandomGeneratorSeed(rand, 42);
    curandGenerateUniform(rand, uniform, n);
    expect(curandGenerateNormalDouble(rand, normal, n + 1, 3, 2) == 105, "an odd number");
    curandGenerateNormalDouble(rand, normal, n, 3, 2);
    curandGeneratePoisson(rand, events, n, 800);
    double sum = 0, squares = 0, many = 0, lowest = 1, mean = 0;
    for (float value : taken(uniform, n)) sum += value, lowest = value < lowest ? value : lowest;
    for (double value : taken(normal, n)) mean += value, squares += (value - 3) * (value - 3);
    for (unsigned value : taken(events, n)) many += value;
    expect(lowest > 0 && std::fabs(sum / n - 0.5) < 0.01, "uniform");
    expect(std::fabs(mean / n - 3) < 0.06 && std::fabs(squares / n - 4) < 0.2, "normal");
    expect(std::fabs(many / n - 800) < 2, "poisson");
    const float first = taken(uniform, 1)[0];
    curandGenerateUniform(rand, uniform, n);
    expect(taken(uniform, 1)[0] != first, "the sequence goes on");
    curandSetPseudoRandomGeneratorSeed(rand, 42);
    curandGenerateUniform(rand, uniform, n);
    expect(taken(uniform, 1)[0] == first, "a seed begins it again");
    expect(curandDestroyGenerator(rand) == 0, "curandDestroyGenerator");
}

int main() {
    Blas blas;
    if (cublasCreate_v2(&blas)) return 1;
    products(blas);
    others(blas);
    described();
    captured(blas);
    numbers();
    const float one = 1;
    expect(cublasSgemm_v2(blas, 0, 0, 2, 2, 2, &one, (float *)8, 2, (float *)8, 2, &one, (float *)8,
                          2) == 13,
           "no memory of the device");
    expect(cublasSgelsBatched(blas, 0) == 15, "not emulated");
    expect(cublasDestroy_v2(blas) == 0, "cublasDestroy");
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
