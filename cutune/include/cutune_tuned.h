// The launch of a tuned program: asks the site's selection routine once and launches once.
// Needs cutune_launch.h, cutune_choice.h and the table cutune_sites before it.
#ifndef CUTUNE_TUNED_H
#define CUTUNE_TUNED_H

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

enum { cutune_site_count = sizeof cutune_sites / sizeof cutune_sites[0] };

// Sites whose chosen block was refused by CUDA.
std::atomic<bool> cutune_given_up[cutune_site_count];

class cutune_launch {
  public:
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;

    template <class... Arguments>
    cutune_launch(int site, dim3 asked_grid, dim3 asked_block, size_t asked_smem,
                  cudaStream_t asked_stream, const Arguments &...arguments)
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream),
          asked_grid_(asked_grid), asked_block_(asked_block), asked_smem_(asked_smem),
          pending_(true), changed_(-1) {
        const long long integers[sizeof...(Arguments) + 1] = {cutune_integer(arguments)..., 0};
        decide(site, integers, cutune_integer_bits<Arguments...>::value);
    }

    // True once, so that the launch behind the `for` runs once; true again when the chosen block
    // asked for more registers than this build of the kernel leaves, for the launch as it was.
    bool next() {
        const bool again = !pending_ && changed_ >= 0 && was_refused();
        if (!pending_) timed_.stop(stream, !again);
        if (again) keep();
        if (!pending_) changed_ = -1;
        const bool launch = pending_ || again;
        pending_ = false;
        return launch;
    }

  private:
    dim3 asked_grid_, asked_block_;
    size_t asked_smem_;
    bool pending_;
    int changed_;  // row of the site whose launch was changed, or -1
    cutune_timed_launch timed_;

    // A launch that is refused has not run. Then the site keeps its own block from now on.
    bool was_refused() {
        const cudaError_t error = cudaPeekAtLastError();
        if (error != cudaErrorLaunchOutOfResources && error != cudaErrorInvalidConfiguration &&
            error != cudaErrorInvalidValue)
            return false;
        cudaGetLastError();
        cutune_given_up[changed_].store(true, std::memory_order_relaxed);
        return true;
    }

    void keep() {
        grid = asked_grid_;
        block = asked_block_;
        smem = asked_smem_;
    }

    void decide(int id, const long long *arguments, unsigned long long integers) {
        const int mode = cutune_read_mode();
        if ((mode & cutune_mode_off) != 0) return;
        // A launch that CUDA will refuse has to be refused for the reason that the program knows.
        if (cutune_threads(grid) == 0 || cutune_threads(block) > 1024) return;
        for (int row = 0; row < cutune_site_count; ++row) {
            const cutune_site &site = cutune_sites[row];
            if (site.id != id) continue;
            if (cutune_given_up[row].load(std::memory_order_relaxed)) return;
            const cutune_request request =
                cutune_make_request(site, grid, block, smem, arguments, integers);
            const dim3 chosen = (mode & cutune_mode_refine) != 0
                                    ? timed_.start(site, request, stream)
                                    : site.select(&request, nullptr).block;
            if (chosen.x == block.x && chosen.y == block.y && chosen.z == block.z) return;
            // The grid is computed here, by the rule that was proven, whatever the routine says.
            if (!cutune_fit_launch(site, request, chosen, &grid, &smem)) {
                timed_.stop(stream, false);
                return;
            }
            block = chosen;
            // With an error pending nobody could tell whose the next one is.
            if (cudaPeekAtLastError() == cudaSuccess)
                changed_ = row;
            else
                keep();
            return;
        }
    }
};

}  // namespace

#endif  // CUTUNE_TUNED_H
