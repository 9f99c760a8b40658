// Which allocation each pointer of a launch leads to: two in different ones never meet. Needs
// cutune_launch.h and cutune_range.h before it.
#ifndef CUTUNE_ALLOCATION_H
#define CUTUNE_ALLOCATION_H

typedef int (*cutune_asking)(unsigned count, const int *attributes, void **values,
                                          unsigned long long address);

// A number that no other allocation of the process has or will have; 0 where the driver does not
// tell for certain. It does for cudaMalloc (only what that gives can be handed to other processes in the
// legacy way) and cudaMallocManaged. Memory of pools, virtual and host memory may be mapped twice.
inline unsigned long long cutune_ask_allocation(unsigned long long address) {
    // CU_POINTER_ATTRIBUTE_BUFFER_ID, IS_MANAGED, IS_LEGACY_CUDA_IPC_CAPABLE.
    static const int attributes[] = {7, 8, 10};
    static const cutune_asking function = reinterpret_cast<cutune_asking>(
        cutune_driver_function("cuPointerGetAttributes"));
    unsigned long long id = 0, is_managed = 0, is_plain = 0;
    void *values[] = {&id, &is_managed, &is_plain};
    if (function == nullptr || function(3, attributes, values, address) != 0) return 0;
    return (is_managed | is_plain) != 0 ? id : 0;
}

// The allocations of the pointers of one launch; each pointer is asked about once.
class cutune_memory {
  public:
    cutune_memory() : count_(0) {}

    unsigned long long of(long long pointer) {
        for (int i = 0; i < count_; ++i)
            if (pointer_[i] == pointer) return id_[i];
        const unsigned long long id =
            cutune_ask_allocation(static_cast<unsigned long long>(pointer));
        if (count_ < most) {
            pointer_[count_] = pointer;
            id_[count_++] = id;
        }
        return id;
    }

    // Do two pointers certainly lead to different memory?
    bool are_apart(long long one, long long other) {
        const unsigned long long first = of(one);
        return first != 0 && of(other) != 0 && of(other) != first;
    }

  private:
    enum { most = 16 };
    int count_;
    long long pointer_[most];
    unsigned long long id_[most];
};

// May a variant run that supposes that nobody else uses what a pointer writes to, and that pointers
// and rows are aligned? Null pointers lead nowhere.
inline bool cutune_supposes_rightly(const cutune_variant &variant, const long long *arguments,
                                    cutune_memory *allocations) {
#ifndef CUTUNE_NO_VECTORS
    for (unsigned long long left = variant.aligned; left != 0; left &= left - 1)
        if ((arguments[__builtin_ctzll(left)] & 15) != 0) return false;
    for (unsigned long long left = variant.divided; left != 0; left &= left - 1)
        if (arguments[__builtin_ctzll(left)] % variant.ids[0] != 0) return false;
#endif
    for (unsigned long long left = variant.written; left != 0; left &= left - 1) {
        const int written = __builtin_ctzll(left);
        if (arguments[written] == 0) continue;
        for (unsigned long long others = variant.pointers; others != 0; others &= others - 1) {
            const int other = __builtin_ctzll(others);
            if (other != written && arguments[other] != 0 &&
                !allocations->are_apart(arguments[written], arguments[other]))
                return false;
        }
    }
    return true;
}

#endif  // CUTUNE_ALLOCATION_H
