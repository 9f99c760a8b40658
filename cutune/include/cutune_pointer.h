// A launch through a pointer, which may lead to several kernels. Needs cutune_call.h before it.
//
//   cutune_launch(7, grid, block)
//       ? (void)0
//       : cutune_pointed(+p, cutune_branch(7, cutune_call(a), cutune_branch(8, cutune_call(b))))(n);
//
// is a launch of a, as site 7, where p is its address, and of b, as site 8, where it is that of b.
// Any other kernel is launched as the program asks. So is one with other parameters: no branch is
// for it.
#ifndef CUTUNE_POINTER_H
#define CUTUNE_POINTER_H

// May each of them be moved once more, and nobody sees it?
template <class... Types>
struct cutune_is_plain : std::true_type {};

template <class First, class... Rest>
struct cutune_is_plain<First, Rest...>
    : std::integral_constant<bool, (std::is_reference<First>::value ||
                                    std::is_trivially_copyable<First>::value) &&
                                       cutune_is_plain<Rest...>::value> {};

struct cutune_no_branch {};

template <class Callee, class Rest>
struct cutune_one_branch {
    int site;
    Callee callee;
    Rest rest;
};

template <class Callee, class Rest = cutune_no_branch>
inline cutune_one_branch<Callee, Rest> cutune_branch(int site, const Callee &callee,
                                                     const Rest &rest = Rest()) {
    const cutune_one_branch<Callee, Rest> branch = {site, callee, rest};
    return branch;
}

// Everything has internal linkage, because cutune_launch has.
namespace {

template <class Branches, class... Parameters>
struct cutune_pointer {
    void (*kernel)(Parameters...);
    Branches branches;

    void operator()(Parameters... values) const { launch(branches, values...); }

    template <class... Members, class Rest>
    void launch(const cutune_one_branch<cutune_callee<cutune_members<Members...>, Parameters...>,
                                        Rest> &one,
                Parameters &...values) const {
        if (kernel != one.callee.kernel) {
            launch(one.rest, values...);
            return;
        }
        const cutune_launch &asked = *cutune_launch::innermost();
        const cutune_launch now(one.site, asked.grid, asked.block, asked.smem, asked.stream);
        one.callee.launch(cutune_has_reference<Parameters...>(), values...);
    }

    template <class Callee, class Rest>
    void launch(const cutune_one_branch<Callee, Rest> &one, Parameters &...values) const {
        launch(one.rest, values...);
    }

    void launch(cutune_no_branch, Parameters &...values) const {
        keep(cutune_is_plain<Parameters...>(), values...);
    }

    void keep(std::true_type, Parameters &...values) const {
        cutune_call(kernel).launch(std::true_type(), values...);
    }

    void keep(std::false_type, Parameters &...values) const {
        cutune_call(kernel).make(reinterpret_cast<const void *>(kernel),
                                 *cutune_launch::innermost(),
                                 cutune_addresses<Parameters...>(values...));
    }
};

template <class... Parameters, class Branches>
inline cutune_pointer<Branches, Parameters...> cutune_pointed(void (*kernel)(Parameters...),
                                                              const Branches &branches) {
    const cutune_pointer<Branches, Parameters...> pointer = {kernel, branches};
    return pointer;
}

}  // namespace

#endif  // CUTUNE_POINTER_H
