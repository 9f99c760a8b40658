// What the program sees of the device: a flat text of `key value` lines named by
// CUTUNE_DEVICE_FILE; without one an H200.
#pragma once
#include <cstdint>
#include <string>

namespace cutune {

struct Device {
    std::string name = "NVIDIA H200";
    int major = 9, minor = 0;
    int multiprocessors = 132;
    int clock_khz = 1980000;
    int memory_clock_khz = 3201000;
    int memory_bus_bits = 6016;
    uint64_t memory_bytes = 150109880320;
    int l2_bytes = 62914560;
    int threads_per_multiprocessor = 2048;
    int blocks_per_multiprocessor = 32;
    int registers_per_multiprocessor = 65536;
    int shared_per_multiprocessor = 233472;
    int shared_per_block = 49152;
    int shared_per_block_optin = 232448;
    int shared_reserved = 1024;     // taken by the system for each resident block
    int shared_granularity = 128;   // of the allocation per block
    int registers_per_thread = 32;  // assumed for every kernel: PTX has no register allocation
    double launch_floor_us = 4.2;
    double dram_gbs = 4800;
    double link_gbs = 50;  // between host and device
};

// All devices are alike.
const Device& device();

constexpr int kMostDevices = 16;

// How many there are: CUTUNE_DEVICES.
int device_count();
inline bool is_device(int number) { return number >= 0 && number < device_count(); }

// The number of the device that this host thread uses.
int current_device();
void use_device(int number);

// Uses another device, until it goes out of scope.
class OnDevice {
  public:
    explicit OnDevice(int number);
    ~OnDevice();
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

  private:
    int before_;
};

}  // namespace cutune
