// Cameras: raw numbers of 16 bits, in rows with a pitch of their own, less what is dark and times a
// gain, to n x (2n/3 + 1) floats, and a byte for those at their limit.
//
//     nvcc -O2 -o calibrate_sensor calibrate_sensor.cu && ./calibrate_sensor 1200

#include "checksum.h"

__global__ void calibrate(const unsigned short *raw, int raw_pitch, const unsigned short *dark,
                          const float *gain, float *signal, unsigned char *saturated, int width,
                          int height) {
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x < width && y < height) {
        int v = raw[y * raw_pitch + x];
        int p = y * width + x;
        signal[p] = gain[p] * (float)(v - dark[p]);
        saturated[p] = v >= 65000 ? 1 : 0;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 15000);
    const int width = n, height = 2 * n / 3 + 1, pitch = n + 24;
    const size_t count = (size_t)width * height;
    const std::vector<uint16_t> raw = quick_bits<uint16_t>((size_t)pitch * height, 2321);
    std::vector<uint16_t> dark = quick_bits<uint16_t>(count, 2322);
    for (uint16_t &level : dark) level >>= 7;
    const std::vector<float> gain = quick_values(count, 2323);
    const uint16_t *d_raw = to_device(raw), *d_dark = to_device(dark);
    const float *d_gain = to_device(gain);
    float *d_signal = device_zeros<float>(count);
    uint8_t *d_saturated = device_zeros<uint8_t>(count);

    dim3 threads(16, 16);
    dim3 blocks((width + 15) / 16, (height + 15) / 16);
    calibrate<<<blocks, threads>>>(d_raw, pitch, d_dark, d_gain, d_signal, d_saturated, width,
                                   height);
    finish_launches();

    const std::vector<float> signal = from_device(d_signal, count);
    const std::vector<uint8_t> saturated = from_device(d_saturated, count);
    print_checksum("signal", signal);
    print_checksum("saturated", saturated);
    auto number = [&](size_t e) { return (int)raw[e / width * pitch + e % width]; };
    const double error = sampled_error(saturated, [&](size_t e) { return number(e) >= 65000; });
    return verdict(fmax(error, sampled_error(signal, [&](size_t e) {
                            return gain[e] * (float)(number(e) - dark[e]);
                        })));
}
