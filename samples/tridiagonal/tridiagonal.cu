// Tridiagonal systems by the partition method, on a GPU, with recursion, streams, two precisions.
//
//     a[i] x[i-1] + b[i] x[i] + c[i] x[i+1] = d[i],   0 <= i < N,   a[0] = c[N-1] = 0
//
// Stage 1 (device): each thread reduces one sub-system of m rows f..l to two equations, in which
// only x[f-1], x[f], x[l], x[l+1] occur. Stage 2: these equations are a tridiagonal system of their
// own, of order 2 N / m; it is solved on the host, or by the same method again (R recursive steps).
// Stage 3 (device): each thread solves for the m - 2 inner unknowns of its sub-system. Sub-systems
// are divided among S streams, so that copies and kernels overlap. No pivoting: the matrix has to
// be diagonally dominant.
//
//     tridiagonal [OPTIONS] N                      m, R, S and block as chosen below
//     tridiagonal [OPTIONS] N m R S block [m1 ..]  as given; m1 .. m4 are for the recursive steps
//     tridiagonal --sweep FILE                     times of many configurations as CSV
//
// Options: --fp32, then --repeat COUNT (solve the same system so often). Each line of FILE:
// fp64|fp32 N m R S block m1 m2 m3 m4, or fp64|fp32 N for those chosen below.
//
// Method, and the nearest neighbours by which m and R are chosen: M. Veneva, "ML-Based Optimum
// Sub-system Size for the GPU Implementation of the Tridiagonal Partition Method".
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#define CHECK(call)                                                                         \
    do {                                                                                    \
        const cudaError_t status_ = (call);                                                 \
        if (status_ != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                         \
                         cudaGetErrorString(status_));                                      \
            std::exit(1);                                                                   \
        }                                                                                   \
    } while (0)

constexpr int MAX_STEPS = 4;    // recursive steps
constexpr int MAX_STREAMS = 32;

struct Configuration {
    int m[MAX_STEPS + 1]; // sub-system size of each level; m[0] is that of the whole system
    int steps;            // R
    int streams;          // S
    int block;            // threads per block
};

// ---- one level: n rows in `count` sub-systems

struct Level {
    int n;
    int m;
    int count;

    // A last sub-system of fewer than three rows is merged into its neighbour.
    Level(int rows, int size) : n(rows), m(size), count(rows / size + (rows % size >= 3)) {}

    int first_row(int sub_system) const { return sub_system == count ? n : sub_system * m; }
};

template <typename Real>
struct Rows {
    Real *a, *b, *c, *d;
};

// Stage 1 for sub-systems first .. first + count - 1 of `total`.
template <typename Real>
__global__ void reduce_sub_systems(int first, int count, int total, int n, int m, const Real *a,
                                   const Real *b, const Real *c, const Real *d, Real *interface_a,
                                   Real *interface_b, Real *interface_c, Real *interface_d)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const int s = first + i;
        const int f = s * m;
        const int l = s == total - 1 ? n - 1 : f + m - 1;
        // Upward: al x[f-1] + be x[f] + ga x[l] = de.
        Real al = a[l - 1], be = b[l - 1], ga = c[l - 1], de = d[l - 1];
        for (int row = l - 2; row >= f; --row) {
            const Real w = c[row] / be;
            be = b[row] - w * al;
            ga = -w * ga;
            de = d[row] - w * de;
            al = a[row];
        }
        interface_a[2 * s] = al;
        interface_b[2 * s] = be;
        interface_c[2 * s] = ga;
        interface_d[2 * s] = de;
        // Downward: al x[f] + be x[l] + ga x[l+1] = de.
        al = a[f + 1], be = b[f + 1], ga = c[f + 1], de = d[f + 1];
        for (int row = f + 2; row <= l; ++row) {
            const Real w = a[row] / be;
            al = -w * al;
            be = b[row] - w * ga;
            de = d[row] - w * de;
            ga = c[row];
        }
        interface_a[2 * s + 1] = al;
        interface_b[2 * s + 1] = be;
        interface_c[2 * s + 1] = ga;
        interface_d[2 * s + 1] = de;
    }
}

// Stage 3: the inner unknowns by the Thomas algorithm; c is overwritten, d becomes x.
template <typename Real>
__global__ void solve_sub_systems(int first, int count, int total, int n, int m, const Real *a,
                                  const Real *b, Real *c, Real *d, const Real *interface_x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const int s = first + i;
        const int f = s * m;
        const int l = s == total - 1 ? n - 1 : f + m - 1;
        const Real x_first = interface_x[2 * s];
        const Real x_last = interface_x[2 * s + 1];
        Real upper = 0, right = x_first; // of the row above: x[row-1] + upper x[row] = right
        for (int row = f + 1; row < l; ++row) {
            const Real w = 1 / (b[row] - a[row] * upper);
            right = (d[row] - a[row] * right) * w;
            upper = c[row] * w;
            c[row] = upper;
            d[row] = right;
        }
        Real x = x_last;
        for (int row = l - 1; row > f; --row) {
            x = d[row] - c[row] * x;
            d[row] = x;
        }
        d[f] = x_first;
        d[l] = x_last;
    }
}

// The Thomas algorithm; c is overwritten, d becomes x.
template <typename Real>
void thomas(int n, const Rows<Real> &rows)
{
    Real upper = 0, right = 0;
    for (int i = 0; i < n; ++i) {
        const Real w = 1 / (rows.b[i] - rows.a[i] * upper);
        right = (rows.d[i] - rows.a[i] * right) * w;
        upper = rows.c[i] * w;
        rows.c[i] = upper;
        rows.d[i] = right;
    }
    for (int i = n - 2; i >= 0; --i) rows.d[i] -= rows.c[i] * rows.d[i + 1];
}

// ---- memory

template <typename Real>
struct Host {
    Rows<Real> rows;      // the system, page-locked
    Real *x;              // its solution
    Rows<Real> interface; // what the host has to solve
};

template <typename Real>
struct Device {
    Rows<Real> level[MAX_STEPS + 2]; // level 0 is the system, each further one an interface system
};

template <typename Real>
class Solver {
public:
    // For systems of up to `rows` rows in sub-systems of `smallest` to `largest` rows.
    Solver(int rows, int smallest, int largest)
    {
        size_t n = rows;
        // A system of less than two sub-systems is left to the host as it is.
        const size_t inner = std::max(2 * n / smallest + 2, std::min<size_t>(n, 2 * largest));
        host = {rows_on_host(n), on_host(n), rows_on_host(inner)};
        for (auto &level : device.level) {
            level = {on_device(n), on_device(n), on_device(n), on_device(n)};
            n = 2 * n / smallest + 2;
        }
        for (auto &stream : streams) CHECK(cudaStreamCreate(&stream));
    }

    ~Solver()
    {
        for (void *memory : host_memory) cudaFreeHost(memory);
        for (void *memory : device_memory) cudaFree(memory);
        for (auto &stream : streams) cudaStreamDestroy(stream);
    }

    // The solution of the first n rows of host.rows, in host.x.
    void solve(int n, const Configuration &configuration);

    Host<Real> host;

private:
    Real *on_host(size_t count)
    {
        void *memory;
        CHECK(cudaMallocHost(&memory, count * sizeof(Real)));
        host_memory.push_back(memory);
        return (Real *)memory;
    }

    Rows<Real> rows_on_host(size_t n) { return {on_host(n), on_host(n), on_host(n), on_host(n)}; }

    Real *on_device(size_t count)
    {
        void *memory;
        CHECK(cudaMalloc(&memory, count * sizeof(Real)));
        device_memory.push_back(memory);
        return (Real *)memory;
    }

    void solve_on_host(int n);
    void reduce(const Level &level, int depth, int first, int last, int block, cudaStream_t stream);
    void substitute(const Level &level, int depth, int first, int last, int block,
                    cudaStream_t stream);

    Device<Real> device;
    std::vector<void *> host_memory, device_memory;
    cudaStream_t streams[MAX_STREAMS];
};

// ---- the method

template <typename Real>
void Solver<Real>::reduce(const Level &level, int depth, int first, int last, int block,
                          cudaStream_t stream)
{
    const Rows<Real> &from = device.level[depth], &to = device.level[depth + 1];
    const int count = last - first;
    reduce_sub_systems<Real><<<(count + block - 1) / block, block, 0, stream>>>(
        first, count, level.count, level.n, level.m, from.a, from.b, from.c, from.d, to.a, to.b,
        to.c, to.d);
}

template <typename Real>
void Solver<Real>::substitute(const Level &level, int depth, int first, int last, int block,
                              cudaStream_t stream)
{
    const Rows<Real> &rows = device.level[depth];
    const int count = last - first;
    solve_sub_systems<Real><<<(count + block - 1) / block, block, 0, stream>>>(
        first, count, level.count, level.n, level.m, rows.a, rows.b, rows.c, rows.d,
        device.level[depth + 1].d);
}

template <typename Real>
void Solver<Real>::solve_on_host(int n)
{
    const size_t bytes = n * sizeof(Real);
    std::memcpy(host.interface.a, host.rows.a, bytes);
    std::memcpy(host.interface.b, host.rows.b, bytes);
    std::memcpy(host.interface.c, host.rows.c, bytes);
    std::memcpy(host.interface.d, host.rows.d, bytes);
    thomas(n, host.interface);
    std::memcpy(host.x, host.interface.d, bytes);
}

// `count` elements from `offset` on of all four arrays.
template <typename Real>
void copy(const Rows<Real> &to, const Rows<Real> &from, size_t offset, size_t count,
          cudaMemcpyKind kind, cudaStream_t stream)
{
    const size_t bytes = count * sizeof(Real);
    CHECK(cudaMemcpyAsync(to.a + offset, from.a + offset, bytes, kind, stream));
    CHECK(cudaMemcpyAsync(to.b + offset, from.b + offset, bytes, kind, stream));
    CHECK(cudaMemcpyAsync(to.c + offset, from.c + offset, bytes, kind, stream));
    CHECK(cudaMemcpyAsync(to.d + offset, from.d + offset, bytes, kind, stream));
}

template <typename Real>
void Solver<Real>::solve(int n, const Configuration &configuration)
{
    if (n < 2 * configuration.m[0]) return solve_on_host(n);
    std::vector<Level> levels{Level(n, configuration.m[0])};
    for (int step = 1; step <= configuration.steps; ++step) {
        const int rows = 2 * levels.back().count;
        if (rows < 2 * configuration.m[step]) break;
        levels.emplace_back(rows, configuration.m[step]);
    }
    const int depth = (int)levels.size();
    const Level &whole = levels[0];
    const int order = 2 * levels.back().count; // of the system that is left to the host
    const int block = configuration.block;
    const int chunks = std::min(configuration.streams, whole.count);
    auto first_of = [&](int chunk) { return (int)((long long)whole.count * chunk / chunks); };

    for (int chunk = 0; chunk < chunks; ++chunk) {
        const int first = first_of(chunk), last = first_of(chunk + 1);
        const int row = whole.first_row(first), rows = whole.first_row(last) - row;
        copy(device.level[0], host.rows, row, rows, cudaMemcpyHostToDevice, streams[chunk]);
        reduce(whole, 0, first, last, block, streams[chunk]);
        if (depth == 1)
            copy(host.interface, device.level[1], 2 * (size_t)first, 2 * (size_t)(last - first),
                 cudaMemcpyDeviceToHost, streams[chunk]);
    }
    CHECK(cudaDeviceSynchronize());
    if (depth > 1) {
        for (int step = 1; step < depth; ++step)
            reduce(levels[step], step, 0, levels[step].count, block, streams[0]);
        copy(host.interface, device.level[depth], 0, order, cudaMemcpyDeviceToHost, streams[0]);
        CHECK(cudaStreamSynchronize(streams[0]));
    }
    thomas(order, host.interface);
    if (depth > 1) {
        CHECK(cudaMemcpyAsync(device.level[depth].d, host.interface.d, order * sizeof(Real),
                              cudaMemcpyHostToDevice, streams[0]));
        for (int step = depth - 1; step > 0; --step)
            substitute(levels[step], step, 0, levels[step].count, block, streams[0]);
        CHECK(cudaStreamSynchronize(streams[0]));
    }
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const int first = first_of(chunk), last = first_of(chunk + 1);
        const int row = whole.first_row(first), rows = whole.first_row(last) - row;
        if (depth == 1)
            CHECK(cudaMemcpyAsync(device.level[1].d + 2 * (size_t)first,
                                  host.interface.d + 2 * (size_t)first,
                                  2 * (size_t)(last - first) * sizeof(Real),
                                  cudaMemcpyHostToDevice, streams[chunk]));
        substitute(whole, 0, first, last, block, streams[chunk]);
        CHECK(cudaMemcpyAsync(host.x + row, device.level[0].d + row, rows * sizeof(Real),
                              cudaMemcpyDeviceToHost, streams[chunk]));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGetLastError());
}

// ---- systems, and how well they are solved

// A number in [-1, 1] that depends on the index alone (SplitMix64).
double random_number(std::uint64_t index)
{
    std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 4503599627370496.0 - 1.0;
}

template <typename Real>
void fill(const Rows<Real> &rows, int n)
{
    for (int i = 0; i < n; ++i) {
        const std::uint64_t index = 4 * (std::uint64_t)i;
        const double a = i > 0 ? random_number(index) : 0.0;
        const double c = i < n - 1 ? random_number(index + 1) : 0.0;
        const double excess = 1.0 + random_number(index + 2) / 2; // b exceeds |a| + |c| by it
        rows.a[i] = (Real)a;
        rows.b[i] = (Real)((std::fabs(a) + std::fabs(c) + excess) * (i % 3 == 1 ? -1 : 1));
        rows.c[i] = (Real)c;
        rows.d[i] = (Real)random_number(index + 3);
    }
}

// The largest |A x - d|, relative to the largest |d|.
template <typename Real>
double residual(const Rows<Real> &rows, const Real *x, int n)
{
    double largest = 0, scale = 0;
    for (int i = 0; i < n; ++i) {
        double left = (double)rows.b[i] * x[i];
        if (i > 0) left += (double)rows.a[i] * x[i - 1];
        if (i < n - 1) left += (double)rows.c[i] * x[i + 1];
        const double off = std::fabs(left - rows.d[i]);
        if (!(off <= largest)) largest = off; // also where it is no number
        scale = std::max(scale, std::fabs((double)rows.d[i]));
    }
    return largest / scale;
}

// The largest difference from the Thomas algorithm on the whole system, relative to the largest x.
template <typename Real>
double difference_from_thomas(const Rows<Real> &rows, const Real *x, int n)
{
    std::vector<Real> c(rows.c, rows.c + n), d(rows.d, rows.d + n);
    thomas<Real>(n, {rows.a, rows.b, c.data(), d.data()});
    double largest = 0, scale = 0;
    for (int i = 0; i < n; ++i) {
        const double off = std::fabs((double)d[i] - x[i]);
        if (!(off <= largest)) largest = off;
        scale = std::max(scale, std::fabs((double)d[i]));
    }
    return largest / scale;
}

// ---- what to run

// Defaults, and what may be chosen instead. Steps come first: the other values depend on them.
Configuration configuration_for(int N)
{
#pragma cutune tune(R: 0, 1, 2, 3, 4) data(N)
    int R = 0;
#pragma cutune tune(m: 4, 5, 8, 10, 16, 20, 25, 32, 40, 64, 100, 128, 256, 512, 1250) data(N, R) where(N >= 2 * m)
    int m = 32;
#pragma cutune tune(m1: 4, 5, 8, 10, 16, 32) data(N, R)
    int m1 = 10;
#pragma cutune tune(S: 1, 2, 4, 8, 16, 32) data(N)
    int S = N < 200000 ? 1 : N < 2000000 ? 8 : 32;
#pragma cutune tune(block: 64, 128, 256, 512) data(N)
    int block = 256;
    return {{m, m1, 10, 10, 10}, R, S, block};
}

template <typename Real>
int solve_one(int N, const Configuration &configuration, int count)
{
    const int *m = configuration.m;
    const int smallest = *std::min_element(m, m + configuration.steps + 1);
    Solver<Real> solver(N, smallest, m[0]);
    fill(solver.host.rows, N);
    for (int i = 0; i < count; ++i) {
#pragma cutune region begin
        solver.solve(N, configuration);
#pragma cutune region end
    }
    const double off = residual(solver.host.rows, solver.host.x, N);
    const double difference = difference_from_thomas(solver.host.rows, solver.host.x, N);
    std::printf("N %d, m %d, R %d, S %d, block %d: relative residual %.2e, "
                "difference from Thomas %.2e\n",
                N, configuration.m[0], configuration.steps, configuration.streams,
                configuration.block, off, difference);
    const double limit = sizeof(Real) == 8 ? 1e-12 : 1e-4;
    return off <= limit && difference <= limit ? 0 : 1;
}

struct Row {
    std::string precision;
    int N;
    Configuration configuration;
};

// Times the configurations of one N in turn, so that a drift of the machine meets all alike.
template <typename Real>
void time_in_turn(Solver<Real> &solver, const Row *begin, const Row *end)
{
    const int N = begin->N;
    // The first N rows are a system too once the last one has no right neighbour.
    Real &last = solver.host.rows.c[N - 1];
    const Real kept = last;
    last = 0;
    std::vector<std::vector<double>> times(end - begin);
    double total = 0; // of one configuration, about
    for (int round = 0; round < 3 || (round < 61 && total < 6); ++round) {
        const auto first = std::chrono::steady_clock::now();
        for (const Row *row = begin; row < end; ++row) {
            const auto start = std::chrono::steady_clock::now();
            solver.solve(N, row->configuration); // ends with a synchronization
            const std::chrono::duration<double, std::milli> time =
                std::chrono::steady_clock::now() - start;
            if (round > 0) times[row - begin].push_back(time.count());
        }
        const std::chrono::duration<double, std::milli> whole =
            std::chrono::steady_clock::now() - first;
        total += whole.count() / (end - begin);
    }
    last = kept;
    for (const Row *row = begin; row < end; ++row) {
        std::vector<double> &own = times[row - begin];
        std::sort(own.begin(), own.end());
        const Configuration &c = row->configuration;
        std::printf("%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%.6f\n", row->precision.c_str(), N, c.m[0],
                    c.steps, c.streams, c.block, c.m[1], c.m[2], c.m[3], c.m[4],
                    own[(own.size() - 1) / 2]);
    }
    std::fflush(stdout);
}

template <typename Real>
void sweep(const std::vector<Row> &rows)
{
    if (rows.empty()) return;
    int most = 0, smallest = rows[0].configuration.m[0], largest = smallest;
    for (const Row &row : rows) {
        const int *m = row.configuration.m;
        most = std::max(most, row.N);
        smallest = std::min(smallest, *std::min_element(m, m + row.configuration.steps + 1));
        largest = std::max(largest, m[0]);
    }
    Solver<Real> solver(most, smallest, largest);
    fill(solver.host.rows, most);
    for (size_t begin = 0, end; begin < rows.size(); begin = end) {
        for (end = begin; end < rows.size() && rows[end].N == rows[begin].N;) ++end;
        time_in_turn(solver, &rows[begin], &rows[end - 1] + 1);
    }
}

int sweep_file(const char *path)
{
    std::vector<Row> rows[2];
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        Row row;
        Configuration &c = row.configuration;
        words >> row.precision >> row.N;
        if (words.eof() || (words >> std::ws).eof()) {
            c = configuration_for(row.N);
        } else {
            words >> c.m[0] >> c.steps >> c.streams >> c.block;
            for (int step = 1; step <= MAX_STEPS; ++step) words >> c.m[step];
        }
        if (words.fail() || row.N < 1 || c.steps > MAX_STEPS || c.streams > MAX_STREAMS) {
            std::fprintf(stderr, "not understood: %s\n", line.c_str());
            return 2;
        }
        rows[row.precision == "fp32"].push_back(row);
    }
    std::printf("precision,N,m,R,S,block,m1,m2,m3,m4,ms\n");
    sweep<double>(rows[0]);
    sweep<float>(rows[1]);
    return 0;
}

int main(int argc, char **argv)
{
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == "--sweep") return sweep_file(argv[2]);
    const bool single = !words.empty() && words[0] == "--fp32";
    if (single) words.erase(words.begin());
    int count = 1;
    if (words.size() >= 2 && words[0] == "--repeat") {
        count = std::atoi(words[1].c_str());
        words.erase(words.begin(), words.begin() + 2);
    }
    std::vector<int> numbers;
    for (const std::string &word : words) numbers.push_back(std::atoi(word.c_str()));
    const size_t given = numbers.size();
    bool understood = count > 0 && (given == 1 || (given >= 5 && given <= 5 + MAX_STEPS));
    for (size_t i = 0; i < given; ++i) understood = understood && (numbers[i] > 0 || i == 2);
    if (!understood) {
        std::fprintf(stderr, "usage: tridiagonal [--fp32] [--repeat COUNT] N [m R S block [m1 .. m4]]\n");
        return 2;
    }
    Configuration configuration;
    if (given == 1) {
        configuration = configuration_for(numbers[0]);
    } else {
        configuration = {{numbers[1], 10, 10, 10, 10}, numbers[2], numbers[3], numbers[4]};
        for (size_t i = 5; i < given; ++i) configuration.m[i - 4] = numbers[i];
    }
    const int *m = configuration.m;
    if (*std::min_element(m, m + MAX_STEPS + 1) < 3 || configuration.steps > MAX_STEPS ||
        configuration.streams > MAX_STREAMS) {
        std::fprintf(stderr, "tridiagonal: m >= 3, R <= %d, S <= %d\n", MAX_STEPS, MAX_STREAMS);
        return 2;
    }
    return single ? solve_one<float>(numbers[0], configuration, count)
                  : solve_one<double>(numbers[0], configuration, count);
}
