// A step of n Kalman filters that follow objects in the plane: each, a structure of 56 bytes with
// place, velocity and the upper half of their covariance, is moved on in time and corrected by a
// measurement, unless that is too far off.
//
//     nvcc -O2 -o kalman_tracks kalman_tracks.cu && ./kalman_tracks 100000

#include "../host.h"

struct Track {
    float x, y, vx, vy;
    float xx, xy, xu, xv, yy, yu, yv, uu, uv, vv;
};

__host__ __device__ inline Track moved(Track t, float2 seen, float dt) {
    // Prediction with constant velocity.
    t.x += dt * t.vx;
    t.y += dt * t.vy;
    t.xx += dt * (2.0f * t.xu + dt * t.uu) + 0.01f;
    t.xy += dt * (t.xv + t.yu + dt * t.uv);
    t.yy += dt * (2.0f * t.yv + dt * t.vv) + 0.01f;
    t.xu += dt * t.uu;
    t.xv += dt * t.uv;
    t.yu += dt * t.uv;
    t.yv += dt * t.vv;
    t.uu += 0.02f;
    t.vv += 0.02f;
    // Correction.
    const float a = t.xx + 0.25f, b = t.xy, c = t.yy + 0.25f, inverse = 1.0f / (a * c - b * b);
    const float dx = seen.x - t.x, dy = seen.y - t.y;
    if ((c * dx * dx - 2.0f * b * dx * dy + a * dy * dy) * inverse > 6.0f) return t;
    const float kx1 = (t.xx * c - t.xy * b) * inverse, kx2 = (t.xy * a - t.xx * b) * inverse;
    const float ky1 = (t.xy * c - t.yy * b) * inverse, ky2 = (t.yy * a - t.xy * b) * inverse;
    const float ku1 = (t.xu * c - t.yu * b) * inverse, ku2 = (t.yu * a - t.xu * b) * inverse;
    const float kv1 = (t.xv * c - t.yv * b) * inverse, kv2 = (t.yv * a - t.xv * b) * inverse;
    Track after;
    after.x = t.x + kx1 * dx + kx2 * dy;
    after.y = t.y + ky1 * dx + ky2 * dy;
    after.vx = t.vx + ku1 * dx + ku2 * dy;
    after.vy = t.vy + kv1 * dx + kv2 * dy;
    after.xx = t.xx - kx1 * t.xx - kx2 * t.xy;
    after.xy = t.xy - kx1 * t.xy - kx2 * t.yy;
    after.xu = t.xu - kx1 * t.xu - kx2 * t.yu;
    after.xv = t.xv - kx1 * t.xv - kx2 * t.yv;
    after.yy = t.yy - ky1 * t.xy - ky2 * t.yy;
    after.yu = t.yu - ky1 * t.xu - ky2 * t.yu;
    after.yv = t.yv - ky1 * t.xv - ky2 * t.yv;
    after.uu = t.uu - ku1 * t.xu - ku2 * t.yu;
    after.uv = t.uv - ku1 * t.xv - ku2 * t.yv;
    after.vv = t.vv - kv1 * t.xv - kv2 * t.yv;
    return after;
}

__global__ void kalman_step(Track *tracks, const float2 *__restrict__ seen, int count, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) tracks[i] = moved(tracks[i], seen[i], dt);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    const float dt = 0.5f;
    const std::vector<float> random = quick_values(4 * (size_t)n, 1);
    std::vector<float> seen = quick_values(2 * (size_t)n, 2);
    std::vector<Track> tracks(n);
    for (int i = 0; i < n; i++) {
        const float *r = random.data() + 4 * (size_t)i;
        tracks[i] = {r[0], r[1], r[2] - 0.5f, r[3] - 0.5f,      0.2f + 0.1f * r[0],
                     0.0f, 0.1f, 0.02f,       0.3f - 0.1f * r[1], 0.03f,
                     0.1f, 0.3f, 0.0f,        0.4f};
        seen[2 * (size_t)i] = r[0] + 4.0f * seen[2 * (size_t)i] - 2.0f;
        seen[2 * (size_t)i + 1] = r[1] + 4.0f * seen[2 * (size_t)i + 1] - 2.0f;
    }
    Track *d_tracks = to_device(tracks);
    const float *d_seen = to_device(seen);

    const int threads = 128, blocks = (n + threads - 1) / threads;
    kalman_step<<<blocks, threads>>>(d_tracks, (const float2 *)d_seen, n, dt);
    finish_launches();

    const std::vector<float> out = from_device((const float *)d_tracks, 14 * (size_t)n);
    return verdict(sampled_error(out, [&](size_t e) {
        const size_t i = e / 14;
        const Track after =
            moved(tracks[i], make_float2(seen[2 * i], seen[2 * i + 1]), dt);
        return ((const float *)&after)[e % 14];
    }));
}
