// EXPECT: tunable
// FLAGS: -std=c++20
#include "front.h"
#include <memory>
#include <optional>
#include <functional>
enum class Mode : unsigned char { Add, Mul };
struct Args { float *y; int n; float a; Mode mode; };
__global__ void work(Args a) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < a.n) { if (a.mode == Mode::Add) a.y[i] += a.a; else a.y[i] *= a.a; } }
__global__ void both(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
class Engine {
    std::unique_ptr<int> size_; float *y_; std::optional<int> some; static inline int calls = 0;
public:
    Engine(float *y, int n) : size_{new int{n}}, y_{y}, some{n} { both<<<(n + 255) / 256, 256>>>(y_, y_, n); }
    void operator()(float a) { work<<<(*size_ + 255) / 256, 256>>>({y_, *size_, a, Mode::Add}); work<<<(*some + 255) / 256, 256>>>(Args{.y = y_, .n = *some, .a = a, .mode = Mode::Mul}); ++calls; }
    auto size() const -> int { return *size_; }
    float *data() { return y_; }
    friend void extra(Engine &e) { both<<<(e.size() + 127) / 128, 128>>>(e.data(), e.y_, e.size()); }
    template <class F> Engine &then(F &&f) { std::forward<F>(f)(*this); return *this; }
    ~Engine() { both<<<(*size_ + 255) / 256, 256>>>(y_, y_, *size_); }
};
static int count = 0; static int next(int n) { ++count; return n; }
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n);
    {
        Engine e(y, n); e(2.0f); extra(e);
        e.then([](Engine &e) { both<<<(e.size() + 255) / 256, 256>>>(e.data(), e.data(), e.size()); }).then([n](auto &e) { both<<<(n + 255) / 256, 256>>>(e.data(), e.data(), n); });
        struct Local { float *y; void go(int n) { both<<<(n + 255) / 256, 256>>>(y, y, n); } } local{y}; local.go(n);
        std::function<void(int)> f = [&](int m) { both<<<(m + 255) / 256, 256>>>(y, y, next(m)); }; f(n);
    }
    both<<<(next(n) + 255) / 256, 256>>>(y, y, next(n));
    std::printf("%d\n", count);
    printed("y", y, n);
}
