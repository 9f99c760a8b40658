// Devices and the memory of other devices.
#pragma once
#include "runtime.h"

namespace cutune {

// May kernels of the device access the block?
bool reaches(int device, const Block& block);

// Forget which devices have access to the current one, and it to others (cudaDeviceReset).
void forget_peer_access();

// Memory as the kernels of one device see it.
class DeviceMemory : public Memory {
  public:
    explicit DeviceMemory(int device) : device_(device) {}

    const Allocation* find(uint64_t address) const override;
    uint64_t allocate(uint64_t bytes) override;
    void release(uint64_t address) override;
    const Texture* texture(uint64_t handle) const override;

  private:
    int device_;
};

}  // namespace cutune
