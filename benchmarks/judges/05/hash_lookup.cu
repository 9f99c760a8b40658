// Look-ups of n keys in a hash table of n / 8 entries, open addressing with linear probing, between
// half and three quarters empty. Every second key is there.
//
//     nvcc -O2 -o hash_lookup hash_lookup.cu && ./hash_lookup 1000000

#include "../host.h"

#define EMPTY 0xffffffffu

struct Entry {
    unsigned key, value;
};

__global__ void lookup(const Entry *table, unsigned mask, const unsigned *keys, unsigned *values,
                       unsigned count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned key = keys[i];
    unsigned slot = mixed(key) & mask;
    unsigned value = EMPTY;
    while (true) {
        const Entry entry = table[slot];
        if (entry.key == key) {
            value = entry.value;
            break;
        }
        if (entry.key == EMPTY) break;
        slot = (slot + 1) & mask;
    }
    values[i] = value;
}

// Entries have even keys, so that odd ones are not there.
static unsigned entry_key(unsigned e) { return 2 * e; }

int main(int argc, char **argv) {
    const unsigned n = size_argument(argc, argv, 1000, 1 << 28);
    const unsigned entries = n / 8 + 1;
    unsigned capacity = 2;
    while (capacity < 2 * entries) capacity *= 2;
    std::vector<Entry> table(capacity, Entry{EMPTY, 0});
    for (unsigned e = 0; e < entries; e++) {
        unsigned slot = mixed(entry_key(e)) & (capacity - 1);
        while (table[slot].key != EMPTY) slot = (slot + 1) & (capacity - 1);
        table[slot] = {entry_key(e), e % 1000 + 1};
    }
    std::vector<unsigned> keys(n);
    for (unsigned i = 0; i < n; i++) {
        const unsigned bits = mixed(i + 12345u);
        keys[i] = entry_key((bits >> 1) % entries) + (bits & 1);
    }
    const Entry *d_table = to_device(table);
    const unsigned *d_keys = to_device(keys);
    unsigned *d_values = device_zeros<unsigned>(n);

    dim3 block(256);
    dim3 grid((n + block.x - 1) / block.x);
    lookup<<<grid, block>>>(d_table, capacity - 1, d_keys, d_values, n);
    finish_launches();

    const std::vector<unsigned> values = from_device(d_values, n);
    bool right = true;
    for (unsigned i = 0; i < n; i++)
        if (values[i] != (keys[i] % 2 ? EMPTY : keys[i] / 2 % 1000 + 1)) right = false;
    return verdict(right ? 0.0 : 1.0);
}
