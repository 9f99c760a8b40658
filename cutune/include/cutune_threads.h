// How many threads a launch gets whose loops step by all threads. Needs cutune_launch.h,
// cutune_host.h and cutune_choice.h before it.
#ifndef CUTUNE_THREADS_H
#define CUTUNE_THREADS_H

// Take as many threads as fill the GPU, or as have work, where any number of them does the same and
// that is predicted to be faster by a tenth.
inline void cutune_try_threads(cutune_request *request, cutune_chosen *best) {
    const cutune_request asked = *request;
    const long long filling = 2048ll * cutune_current_device().multiprocessors;
    for (int d = 0; d < 3; ++d) {
        const long long working = cutune_working_threads(asked, d);
        for (int i = filling < working ? 0 : 1; i < 2 && working != 0; ++i) {
            const cutune_request other = cutune_with_threads(asked, d, i == 0 ? filling : working);
            const cutune_chosen found = asked.site->select(&other, nullptr);
            if (found.us <= 0 || found.us * 1.1 >= best->us) continue;
            *best = found;
            *request = other;
        }
        if (request->guarded == asked.guarded) continue;
        if (cutune_is_verbose())
            cutune_say(cutune_stderr, "cutune: %s: %lld threads in place of %lld, block %ux%ux%u\n",
                       asked.site->kernel, request->extent[d], asked.extent[d], best->block.x,
                       best->block.y, best->block.z);
        return;
    }
}

// Leave out the threads of loops that step by all threads which have no work, where these are most.
// Fewer than have work may not be: loops would go on with what a thread has kept.
inline void cutune_drop_threads(cutune_request *request, cutune_chosen *best) {
    for (int d = 0; d < 3 && best->variant == 0; ++d) {
        const long long needed = cutune_working_threads(*request, d), all = request->extent[d];
        if (needed == 0 || needed > all || all > cutune_most_ids) continue;
        const cutune_request other = cutune_with_threads(*request, d, needed);
        dim3 own = request->grid, busy;
        size_t smem = 0;
        if (!cutune_fit_launch(*request->site, *request, best->block, &own, &smem))
            best->block = request->block;
        if (cutune_fit_launch(*request->site, other, best->block, &busy, &smem) &&
            cutune_threads(own) > 2 * cutune_threads(busy) + 2048)
            *request = other;
        return;
    }
}

#endif  // CUTUNE_THREADS_H
