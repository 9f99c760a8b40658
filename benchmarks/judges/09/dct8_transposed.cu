// The first half of a two-dimensional cosine transform of 8 x 8 pixels: a thread transforms eight
// numbers of a row and stores them below each other, so that the same kernel can do the columns.
//
//     nvcc -O2 -o dct8_transposed dct8_transposed.cu && ./dct8_transposed 1000

#include "../host.h"

#define C1 0.98078528f
#define C2 0.92387953f
#define C3 0.83146961f
#define C4 0.70710678f
#define C5 0.55557023f
#define C6 0.38268343f
#define C7 0.19509032f

__global__ void dct8(const float *__restrict__ in, float *__restrict__ out, int rows,
                     int segments) {
    int segment = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (segment >= segments || row >= rows) return;
    const float *from = in + ((size_t)row * segments + segment) * 8;
    float sums[4], differences[4];
    for (int k = 0; k < 4; k++) {
        const float a = from[k], b = from[7 - k];
        sums[k] = a + b;
        differences[k] = a - b;
    }
    const float outer = sums[0] + sums[3], inner = sums[1] + sums[2];
    const float outer_step = sums[0] - sums[3], inner_step = sums[1] - sums[2];
    const float d0 = differences[0], d1 = differences[1], d2 = differences[2], d3 = differences[3];
    float *to = out + (size_t)segment * 8 * rows + row;
    to[0] = C4 * (outer + inner);
    to[(size_t)1 * rows] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
    to[(size_t)2 * rows] = C2 * outer_step + C6 * inner_step;
    to[(size_t)3 * rows] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
    to[(size_t)4 * rows] = C4 * (outer - inner);
    to[(size_t)5 * rows] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
    to[(size_t)6 * rows] = C6 * outer_step - C2 * inner_step;
    to[(size_t)7 * rows] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 20000);
    const int rows = n, segments = n / 8 + 1;
    const size_t count = (size_t)rows * segments * 8;
    const std::vector<float> image = quick_values(count, 1);
    const float *d_image = to_device(image);
    float *d_out = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((segments + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    dct8<<<grid, block>>>(d_image, d_out, rows, segments);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const size_t column = e / rows, row = e % rows, frequency = column % 8;
        const float *from = &image[(row * segments + column / 8) * 8];
        double sum = 0.0;
        for (int k = 0; k < 8; k++)
            sum += from[k] * cos(3.14159265358979 / 16.0 * (2 * k + 1) * (double)frequency);
        return frequency == 0 ? sum * sqrt(0.5) : sum;
    }));
}
