// The energy that a GPU has used, as NVML tells it from Volta on: millijoules since the driver was
// loaded, which it counts on every 20 to 100 ms (nvmlDeviceGetTotalEnergyConsumption).
#ifndef CUTUNE_ENERGY_H
#define CUTUNE_ENERGY_H

#include "cutune_host.h"

extern "C" {
void *cutune_load(const char *, int) asm("dlopen");
void *cutune_symbol(void *, const char *) asm("dlsym");
int cutune_clock(int, long *) asm("clock_gettime");
}

inline double cutune_seconds() {
    long now[2] = {0, 0};
    const int monotonic = 1;
    cutune_clock(monotonic, now);
    return static_cast<double>(now[0]) + 1e-9 * static_cast<double>(now[1]);
}

// Of the device that the program uses. The library is the one that $CUTUNE_NVML names.
class cutune_energy {
  public:
    cutune_energy() : read_(nullptr), device_(nullptr) {
        const char *const name = getenv("CUTUNE_NVML");
        const int lazy = 1;
        void *const library = name == nullptr ? nullptr : cutune_load(name, lazy);
        if (library == nullptr) return;
        start *const begin = reinterpret_cast<start *>(cutune_symbol(library, "nvmlInit_v2"));
        find *const by_bus = reinterpret_cast<find *>(
            cutune_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2"));
        read *const total = reinterpret_cast<read *>(
            cutune_symbol(library, "nvmlDeviceGetTotalEnergyConsumption"));
        int number = 0;
        char bus[32] = "";
        if (begin != nullptr && by_bus != nullptr && total != nullptr && begin() == 0 &&
            !cutune_refused(cudaGetDevice(&number)) &&
            !cutune_refused(cudaDeviceGetPCIBusId(bus, sizeof bus, number)) &&
            by_bus(bus, &device_) == 0)
            read_ = total;
    }

    bool is_told() const { return read_ != nullptr && millijoules() != 0; }

    // Since the driver was loaded; 0: NVML does not say.
    unsigned long long millijoules() const {
        unsigned long long told = 0;
        return read_(device_, &told) == 0 ? told : 0;
    }

  private:
    typedef int start();
    typedef int find(const char *, void **);
    typedef int read(void *, unsigned long long *);
    read *read_;
    void *device_;
};

// Launches that are made one after another, from one change of the counter to another one.
class cutune_meter {
  public:
    cutune_meter()
        : is_on_(false), batch_(0), left_(0), launches_(0), last_(0), from_(0), since_(0),
          changed_(0), has_begun_(false) {}

    bool is_on() const { return is_on_; }
    void stop() { is_on_ = false; }

    // Begins behind a launch that takes so long.
    void start(const cutune_energy &energy, double milliseconds) {
        const double batch_milliseconds = 5;
        const double most = 10000;
        const double fitting = milliseconds > 0 ? batch_milliseconds / milliseconds : 1;
        batch_ = left_ = fitting < 1 ? 1 : static_cast<int>(fitting < most ? fitting : most);
        is_on_ = true;
        has_begun_ = false;
        last_ = energy.millijoules();
        changed_ = cutune_seconds();
    }

    // Is one more to be launched, before anything is waited for?
    bool has_more() {
        if (left_ == 0) return false;
        --left_;
        return true;
    }

    // Behind a batch: the millijoules of a launch, 0: not known yet; below 0: the counter stands.
    double read(const cutune_energy &energy) {
        const double longest_change = 2;
        const double now = cutune_seconds();
        const unsigned long long told = energy.millijoules();
        launches_ += batch_;
        left_ = batch_;
        if (told == last_) return now - changed_ > longest_change ? -1 : 0;
        last_ = told;
        changed_ = now;
        const double least = 1e-3 * cutune_environment_number("CUTUNE_ENERGY_MS", 500);
        if (has_begun_ && now - since_ >= least)
            return static_cast<double>(told - from_) / static_cast<double>(launches_);
        if (!has_begun_) {
            has_begun_ = true;
            launches_ = 0;
            from_ = told;
            since_ = now;
        }
        return 0;
    }

  private:
    bool is_on_;
    int batch_, left_;
    long long launches_;
    unsigned long long last_, from_;
    double since_, changed_;
    bool has_begun_;
};

#endif  // CUTUNE_ENERGY_H
