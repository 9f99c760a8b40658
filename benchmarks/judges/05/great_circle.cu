// Distances and bearings along great circles between n pairs of places on the Earth.
//
//     nvcc -O2 -o great_circle great_circle.cu && ./great_circle 100000

#include "../host.h"

#define EARTH_RADIUS_KM 6371.0f
#define DEG2RAD 0.017453293f

__host__ __device__ inline float haversine(float lat1, float lon1, float lat2, float lon2) {
    const float dlat = sinf(0.5f * (lat2 - lat1)), dlon = sinf(0.5f * (lon2 - lon1));
    const float a = dlat * dlat + cosf(lat1) * cosf(lat2) * dlon * dlon;
    return 2.0f * EARTH_RADIUS_KM * asinf(sqrtf(fminf(a, 1.0f)));
}

__host__ __device__ inline float initial_bearing(float lat1, float lon1, float lat2, float lon2) {
    const float y = sinf(lon2 - lon1) * cosf(lat2);
    const float x = cosf(lat1) * sinf(lat2) - sinf(lat1) * cosf(lat2) * cosf(lon2 - lon1);
    return atan2f(y, x) / DEG2RAD;
}

__global__ void great_circle(const float2 *from, const float2 *to, float *distance, float *bearing,
                             size_t pairs) {
    size_t tid = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= pairs) return;
    float2 p = from[tid], q = to[tid];
    float lat1 = p.x * DEG2RAD, lon1 = p.y * DEG2RAD;
    float lat2 = q.x * DEG2RAD, lon2 = q.y * DEG2RAD;
    distance[tid] = haversine(lat1, lon1, lat2, lon2);
    bearing[tid] = initial_bearing(lat1, lon1, lat2, lon2);
}

static std::vector<float2> places(size_t count, unsigned seed) {
    const std::vector<float> numbers = quick_values(2 * count, seed);
    std::vector<float2> places(count);
    for (size_t i = 0; i < count; i++)
        places[i] = make_float2(160.0f * numbers[2 * i] - 80.0f,
                                358.0f * numbers[2 * i + 1] - 179.0f);
    return places;
}

int main(int argc, char **argv) {
    const size_t n = size_argument(argc, argv, 1000, 1 << 28);
    const std::vector<float2> from = places(n, 1), to = places(n, 2);
    const float2 *d_from = to_device(from), *d_to = to_device(to);
    float *d_distance = device_zeros<float>(n), *d_bearing = device_zeros<float>(n);

    const unsigned block = 512;
    const unsigned grid = (unsigned)((n + block - 1) / block);
    great_circle<<<grid, block>>>(d_from, d_to, d_distance, d_bearing, n);
    finish_launches();

    const double distances = sampled_error(from_device(d_distance, n), [&](size_t i) {
        return haversine(from[i].x * DEG2RAD, from[i].y * DEG2RAD, to[i].x * DEG2RAD,
                         to[i].y * DEG2RAD);
    });
    // The sine of a bearing: near 180 degrees the sign of the bearing says little.
    std::vector<float> sines = from_device(d_bearing, n);
    for (float &value : sines) value = sinf(value * DEG2RAD);
    return verdict(distances + sampled_error(sines, [&](size_t i) {
        return sinf(DEG2RAD * initial_bearing(from[i].x * DEG2RAD, from[i].y * DEG2RAD,
                                              to[i].x * DEG2RAD, to[i].y * DEG2RAD));
    }));
}
