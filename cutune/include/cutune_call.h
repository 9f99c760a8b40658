// The parts of a rewritten launch, in instrumented and in tuned programs. Needs cutune_deduced.h
// and `cutune_controlled` before it, which decides how to launch, and perhaps how often, and
// `cutune_prefers_own`, which says whether a kernel is launched in its own block, or its copy:
//
//   cutune_launch(7, grid, block) ? (void)0 : cutune_call(k)(n, x);
//
// is what the compiler makes of k<<<grid, block>>>(n, x): the configuration first, then the arguments
// once, as the parameters of the kernel, and both live until the launch is made. With
// cutune_call(k, cutune_copied<256, 0, 0>(cutune_copy_k::k)) the copy is launched in other blocks,
// with cutune_call(k, cutune_variants(k__restrict)) a variant of the kernel where that is chosen.
// Where the kernel's address does not say which one is called, the call is repeated instead, so
// that it must be harmless to evaluate its arguments:
//
//   for (cutune_repeated cutune_7(7, cutune_members<>(), grid, block, 0, 0, n, x); cutune_7.next();)
//       k<<<cutune_7.grid, cutune_7.block, cutune_7.smem, cutune_7.stream>>>(n, x);
#ifndef CUTUNE_CALL_H
#define CUTUNE_CALL_H

template <class T>
inline const volatile void *cutune_address(const T &value) {
    return &reinterpret_cast<const volatile char &>(value);
}

template <class... Arguments>
struct cutune_addresses {
    const volatile void *at[sizeof...(Arguments) + 1];
    explicit cutune_addresses(const Arguments &...arguments)
        : at{cutune_address(arguments)..., nullptr} {}
};

// A copy of a kernel that does the same in blocks of this size; 0 stands for any. With 1 as `Way`
// it does so in blocks that have all these threads in x, with 2 where one block is launched.
template <unsigned X, unsigned Y, unsigned Z, int Way, class... Parameters>
struct cutune_copy {
    void (*kernel)(Parameters...);
};

template <unsigned X, unsigned Y, unsigned Z, int Way = 0, class... Parameters>
inline cutune_copy<X, Y, Z, Way, Parameters...> cutune_copied(void (*kernel)(Parameters...)) {
    const cutune_copy<X, Y, Z, Way, Parameters...> copy = {kernel};
    return copy;
}

// Variants of a kernel, in their order: kernels with the same parameters.
template <class... Parameters>
struct cutune_kernels {
    const void *addresses[cutune_most_variants];
};

template <class... Parameters, class... Kernels>
inline cutune_kernels<Parameters...> cutune_variants(void (*first)(Parameters...),
                                                     Kernels... others) {
    const cutune_kernels<Parameters...> variants = {
        {reinterpret_cast<const void *>(first), reinterpret_cast<const void *>(others)...}};
    return variants;
}

// Is one of them a reference? A kernel gets what the compiler makes of it.
template <class... Types>
struct cutune_has_reference : std::false_type {};

template <class First, class... Rest>
struct cutune_has_reference<First, Rest...>
    : std::integral_constant<bool, std::is_reference<First>::value ||
                                       cutune_has_reference<Rest...>::value> {};

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

// A configuration, until the end of the statement. An argument may make a launch of its own.
class cutune_launch {
  public:
    cutune_launch(int asked_site, dim3 asked_grid, dim3 asked_block, size_t asked_smem = 0,
                  cudaStream_t asked_stream = nullptr)
        : site(asked_site), grid(asked_grid), block(asked_block), smem(asked_smem),
          stream(asked_stream), outer_(innermost()) {
        innermost() = this;
    }
    cutune_launch(const cutune_launch &) = delete;
    ~cutune_launch() { innermost() = outer_; }
    explicit operator bool() const { return false; }

    static cutune_launch *&innermost() {
        static thread_local cutune_launch *launch = nullptr;
        return launch;
    }

    const int site;
    const dim3 grid, block;
    const size_t smem;
    const cudaStream_t stream;

  private:
    cutune_launch *const outer_;
};

template <class Members, class... Parameters>
struct cutune_callee;

// A function that takes what the kernel takes.
template <class... Members, class... Parameters>
struct cutune_callee<cutune_members<Members...>, Parameters...> {
    void (*kernel)(Parameters...);
    void (*copy)(Parameters...);  // of the kernel, or nullptr
    dim3 copied;   // the block in which the copy does the same; 0 stands for any
    int change;    // as in cutune_copy
    const void *const *variants;  // their addresses, which live as long; nullptr: there are none

    void operator()(Parameters... values) const {
        launch(cutune_has_reference<Parameters...>(), values...);
    }

    void launch(std::false_type, Parameters &...values) const {
        const cutune_launch &asked = *cutune_launch::innermost();
        cutune_addresses<Parameters...> addresses(values...);
        const void *const own = reinterpret_cast<const void *>(kernel);
        const void *other = own;
        dim3 block = asked.block;
        if (copy != nullptr) {
            if (!is_like_copied(asked.block) ||
                (change == 2 && !cutune_same(asked.grid, dim3()))) {
                make(own, asked, addresses);
                return;
            }
            other = reinterpret_cast<const void *>(copy);
            if (change == 1 && block.y <= 1024) block = dim3(block.x * block.y);
        }
        cutune_controlled now(asked.site, other, variants, asked.grid, block, asked.smem,
                              asked.stream, values...,
                              Members::template of<Parameters...>(addresses.at)...);
        while (now.next()) {
            if (now.variant != 0)
                make(variants[now.variant - 1], now, addresses);
            // The program may have set attributes of the kernel, which the copy does not have.
            else if ((cutune_prefers_own || (copy != nullptr && asked.smem != 0)) &&
                     cutune_same(now.block, block) &&
                     cutune_same(now.grid, asked.grid))
                make(own, asked, addresses);
            else
                make(other, now, addresses);
        }
    }

    template <class Configuration>
    static void make(const void *function, const Configuration &now,
                     const cutune_addresses<Parameters...> &addresses) {
        static_cast<void>(cudaLaunchKernel(function, now.grid, now.block,
                                           const_cast<void **>(addresses.at), now.smem,
                                           now.stream));
    }

    bool is_like_copied(dim3 block) const {
        return (!copied.x || copied.x == block.x) && (!copied.y || copied.y == block.y) &&
               (!copied.z || copied.z == block.z);
    }

#ifdef __CUDACC__
    void launch(std::true_type, Parameters &...values) const {
        const cutune_launch &asked = *cutune_launch::innermost();
        kernel<<<asked.grid, asked.block, asked.smem, asked.stream>>>(
            static_cast<Parameters &&>(values)...);
    }
#endif
};

// Without members none are deduced.
template <class... Parameters, class... Members>
inline cutune_callee<cutune_members<Members...>, Parameters...> cutune_call(
    void (*kernel)(Parameters...), cutune_members<Members...> = cutune_members<>()) {
    const cutune_callee<cutune_members<Members...>, Parameters...> callee = {
        kernel, nullptr, {0, 0, 0}, 0, nullptr};
    return callee;
}

template <class... Parameters, class... Members>
inline cutune_callee<cutune_members<Members...>, Parameters...> cutune_call(
    void (*kernel)(Parameters...), const cutune_kernels<Parameters...> &variants,
    cutune_members<Members...> = cutune_members<>()) {
    const cutune_callee<cutune_members<Members...>, Parameters...> callee = {
        kernel, nullptr, {0, 0, 0}, 0, variants.addresses};
    return callee;
}

template <class... Parameters, unsigned X, unsigned Y, unsigned Z, int Way, class... Members>
inline cutune_callee<cutune_members<Members...>, Parameters...> cutune_call(
    void (*kernel)(Parameters...), cutune_copy<X, Y, Z, Way, Parameters...> copy,
    cutune_members<Members...> = cutune_members<>()) {
    const cutune_callee<cutune_members<Members...>, Parameters...> callee = {
        kernel, copy.kernel, {X, Y, Z}, Way, nullptr};
    return callee;
}

class cutune_repeated : public cutune_controlled {
  public:
    template <class... Members, class... Arguments>
    cutune_repeated(int site, cutune_members<Members...>, dim3 asked_grid, dim3 asked_block,
                    size_t asked_smem, cudaStream_t asked_stream, const Arguments &...arguments)
        : cutune_controlled(site, nullptr, nullptr, asked_grid, asked_block, asked_smem,
                            asked_stream, arguments...,
                            Members::template of<Arguments...>(
                                cutune_addresses<Arguments...>(arguments...).at)...) {}
};

}  // namespace

#endif  // CUTUNE_CALL_H
