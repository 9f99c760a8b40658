// Stands for NVIDIA's library about GPUs. Each time that it is asked, one of them has used 3 J more.
// $STATUS is what it answers with, where that is not 0.
#include <stdlib.h>
#include <string.h>

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    *device = nullptr;
    return strcmp(bus, "0000:01:00.0");
}
int nvmlDeviceGetTotalEnergyConsumption(void *, unsigned long long *millijoules) {
    static unsigned long long told = 1000;
    *millijoules = told += 3000;
    return getenv("STATUS") == nullptr ? 0 : atoi(getenv("STATUS"));
}
}
