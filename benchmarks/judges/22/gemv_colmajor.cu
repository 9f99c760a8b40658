// Linear algebra: y = alpha A x + beta y, a matrix of n x 60 floats by columns, vectors of doubles;
// a template of both types.
//
//     nvcc -O2 -o gemv_colmajor gemv_colmajor.cu && ./gemv_colmajor 30000

#include "summed.h"

namespace blas {

template <typename Matrix, typename Vector>
struct Operands {
    int m, n, lda;
    Vector alpha, beta;
    const Matrix *a;
    const Vector *x;
    Vector *y;
};

template <typename Matrix, typename Vector>
__global__ void gemv(Operands<Matrix, Vector> op) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= op.m) return;
    Vector sum = 0;
    const Matrix *a = op.a + row;
    for (int j = 0; j < op.n; j++, a += op.lda) sum += Vector(*a) * op.x[j];
    op.y[row] = op.alpha * sum + op.beta * op.y[row];
}

}  // namespace blas

int main(int argc, char **argv) {
    const int m = size_argument(argc, argv, 500, 8000000), n = 60;
    const int lda = (m + 31) / 32 * 32;
    const std::vector<float> a = quick_values((size_t)lda * n, 2291);
    std::vector<double> x(n), y(m);
    for (int j = 0; j < n; j++) x[j] = 0.5 + j / 128.0;
    for (int i = 0; i < m; i++) y[i] = (i % 17) * 0.25;

    blas::Operands<float, double> op{m,    n,           lda,         1.5,
                                     -0.5, to_device(a), to_device(x), to_device(y)};
    blas::gemv<<<(m + 255) / 256, 256>>>(op);
    finish_launches();

    const std::vector<double> after = from_device(op.y, m);
    say_sum("y", after);
    return verdict(sampled_error(after, [&](size_t i) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) sum += a[i + (size_t)j * lda] * x[j];
        return 1.5 * sum - 0.5 * y[i];
    }));
}
