// The launch of a tuned program: asks the site's selection routine once and launches once.
// Needs cutune_launch.h, cutune_choice.h and the table cutune_sites before it.
#ifndef CUTUNE_TUNED_H
#define CUTUNE_TUNED_H

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

class cutune_launch {
  public:
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;

    template <class... Arguments>
    cutune_launch(int site, dim3 asked_grid, dim3 asked_block, size_t asked_smem,
                  cudaStream_t asked_stream, const Arguments &...arguments)
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream),
          pending_(true) {
        const long long integers[sizeof...(Arguments) + 1] = {cutune_integer(arguments)..., 0};
        decide(site, integers, cutune_integer_bits<Arguments...>::value);
    }

    // True once, so that the launch behind the `for` runs once.
    bool next() {
        const bool pending = pending_;
        pending_ = false;
        return pending;
    }

  private:
    bool pending_;

    void decide(int id, const long long *arguments, unsigned long long integers) {
        if (cutune_read_mode() == cutune_mode_off) return;
        // A launch that CUDA will refuse has to be refused for the reason that the program knows.
        if (cutune_threads(grid) == 0 || cutune_threads(block) > 1024) return;
        for (const cutune_site &site : cutune_sites) {
            if (site.id != id) continue;
            const cutune_request request =
                cutune_make_request(site, grid, block, smem, arguments, integers);
            const cutune_configuration chosen = site.select(&request);
            // The grid is computed here, by the rule that was proven, whatever the routine says.
            if (cutune_fit_grid(site, request, chosen.block, &grid)) block = chosen.block;
            return;
        }
    }
};

}  // namespace

#endif  // CUTUNE_TUNED_H
