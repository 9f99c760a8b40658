// The probe of instrumented programs, compiled once. Programs that are made with
// -DCUTUNE_PROBE_LINKED find it here (include/cutune_probe.h).
#define CUTUNE_TILES
#include "../../include/cutune_experiment.h"

namespace cutune {

bool experiments_are_made() { return cutune_all_are_made().get(); }

}  // namespace cutune

extern "C" {

bool cutune_linked_is_probing(void) { return cutune_is_probing(); }

cutune_experiment *cutune_linked_begin(const cutune_asked_launch *asked, int *launches) {
    return cutune_begin(*asked, launches);
}

cutune_turn cutune_linked_next(cutune_experiment *experiment, cutune_step *now) {
    return cutune_next(experiment, now);
}

void cutune_linked_end(cutune_experiment *experiment) { cutune_end(experiment); }

}  // extern "C"
