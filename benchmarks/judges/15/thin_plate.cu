// The thin plate spline that moves an image of n x n pixels so that 40 landmarks meet their
// targets: the shift of each pixel, both components summed up in place, and a picture moved by it.
//
//     nvcc -O2 -o thin_plate thin_plate.cu && ./thin_plate 2000

#include "../host.h"

#define LANDMARKS 40

struct Affine {
    float constant, along_x, along_y;
};

// A landmark is its place and its two weights.
__global__ void thin_plate(int n, float pixel, Affine in_x, Affine in_y, const float4 *landmarks,
                           float *shift_x, float *shift_y) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    const int at = row * n + column;
    const float x = column * pixel, y = row * pixel;
    shift_x[at] = in_x.constant + in_x.along_x * x + in_x.along_y * y;
    shift_y[at] = in_y.constant + in_y.along_x * x + in_y.along_y * y;
    for (int k = 0; k < LANDMARKS; k++) {
        const float dx = x - landmarks[k].x, dy = y - landmarks[k].y;
        const float square = dx * dx + dy * dy + 1e-12f;
        const float bend = square * __logf(square);
        shift_x[at] += landmarks[k].z * bend;
        shift_y[at] += landmarks[k].w * bend;
    }
}

__global__ void move_picture(int n, const float *shift_x, const float *shift_y,
                             const float *picture, float *moved) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    const int at = row * n + column;
    const float x = fminf(fmaxf(column + shift_x[at], 0.0f), n - 1.0f);
    const float y = fminf(fmaxf(row + shift_y[at], 0.0f), n - 1.0f);
    const int left = (int)x, right = min(left + 1, n - 1);
    const int top = (int)y, bottom = min(top + 1, n - 1);
    const float dx = x - left, dy = y - top;
    const float above = (1.0f - dx) * picture[top * n + left] + dx * picture[top * n + right];
    const float below = (1.0f - dx) * picture[bottom * n + left] + dx * picture[bottom * n + right];
    moved[at] = (1.0f - dy) * above + dy * below;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 16000);
    const size_t count = (size_t)n * n;
    const std::vector<float> numbers = quick_values(4 * LANDMARKS, 1);
    std::vector<float4> landmarks(LANDMARKS);
    for (int k = 0; k < LANDMARKS; k++)
        landmarks[k] = make_float4(numbers[4 * k], numbers[4 * k + 1], numbers[4 * k + 2] - 0.5f,
                                   numbers[4 * k + 3] - 0.5f);
    const Affine in_x = {3.0f, 0.1f, -0.2f}, in_y = {-2.0f, 0.3f, 0.1f};
    const float pixel = 1.0f / n;
    float4 *device_landmarks = to_device(landmarks);
    float *shift_x = device_zeros<float>(count), *shift_y = device_zeros<float>(count);
    // A picture without edges, so that the rounding of a place hardly shows.
    std::vector<float> picture(count);
    for (size_t i = 0; i < count; i++) picture[i] = 1.0f + pixel * (i % n + 2 * (i / n));
    float *device_picture = to_device(picture), *moved = device_zeros<float>(count);

    const dim3 block(32, 8);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    thin_plate<<<grid, block>>>(n, pixel, in_x, in_y, device_landmarks, shift_x, shift_y);
    move_picture<<<grid, block>>>(n, shift_x, shift_y, device_picture, moved);
    finish_launches();

    auto expected = [&](size_t e, const Affine &affine, float float4::*weight) {
        const double x = (double)(e % n) * pixel, y = (double)(e / n) * pixel;
        double sum = affine.constant + affine.along_x * x + affine.along_y * y;
        for (const float4 &mark : landmarks) {
            const double dx = x - mark.x, dy = y - mark.y;
            const double square = dx * dx + dy * dy + 1e-12;
            sum += mark.*weight * square * log(square);
        }
        return sum;
    };
    auto shift = [&](size_t e) { return expected(e, in_x, &float4::z); };
    const double error_shift = sampled_error(from_device(shift_x, count), shift);
    const double error_moved = sampled_error(from_device(moved, count), [&](size_t e) {
        const double x = (double)(e % n) + shift(e);
        const double y = (double)(e / n) + expected(e, in_y, &float4::w);
        const double last = n - 1.0;
        return 1.0 + pixel * (fmin(fmax(x, 0.0), last) + 2.0 * fmin(fmax(y, 0.0), last));
    });
    return verdict(fmax(error_shift, error_moved));
}
