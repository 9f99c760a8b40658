// What cutune_member says of structures: value, argument, offset, bytes and sign of a member.
#include <stdio.h>

#include "cutune_launch.h"
#include "cutune_member.h"

// Launches nothing.
enum { cutune_prefers_own = 0 };
struct cutune_controlled {
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;
    int variant;
    template <class... Arguments>
    explicit cutune_controlled(const Arguments &...);
    bool next();
};
#include "cutune_call.h"

namespace {

struct Range {
    short from;
    const unsigned long long to;
};

struct Grid {
    double h;
    bool flag;
    int nx;
    Range z;
};

#pragma pack(push, 1)
struct Packed {
    char tag;
    unsigned n;
};
#pragma pack(pop)

struct Copied {
    explicit Copied(int value) : n(value) {}
    Copied(const Copied &other) : n(other.n + 1) {}
    int n;
};

void say(const cutune_member_value &member) {
    printf("%lld %d %d %d %d\n", cutune_integer(member), member.argument, member.offset,
           member.bytes, member.is_signed ? 1 : 0);
}

void say(const cutune_unseen &) { printf("unseen\n"); }

// What a launch with these arguments tells of a member.
template <class Member, class... Arguments>
void tell(const Arguments &...arguments) {
    const cutune_addresses<Arguments...> addresses(arguments...);
    say(Member::template of<Arguments...>(addresses.at));
}

}  // namespace

int main() {
    const Grid grid = {0.5, true, -7, {-3, 1ull << 40}};
    tell<cutune_member< ::Grid, 0, cutune_place<decltype(&::Grid::nx), &::Grid::nx>>>(grid);
    tell<cutune_member< ::Grid, 2, cutune_place<decltype(&::Grid::z), &::Grid::z>,
                       cutune_place<decltype(&::Range::from), &::Range::from>>>(1, 2, grid);
    tell<cutune_member< ::Grid, 2, cutune_place<decltype(&::Grid::z), &::Grid::z>,
                       cutune_place<decltype(&::Range::to), &::Range::to>>>(1, 2, grid);
    tell<cutune_member< ::Grid, 0, cutune_place<decltype(&::Grid::flag), &::Grid::flag>>>(grid);
    tell<cutune_member< ::Grid, 0, cutune_place<decltype(&::Grid::h), &::Grid::h>>>(grid);
    const Packed packed = {'a', 4000000000u};
    tell<cutune_member< ::Packed, 1, cutune_place<decltype(&::Packed::n), &::Packed::n>>>(0, packed);
    // What the kernel gets is not what is written at the launch.
    tell<cutune_member< ::Copied, 0, cutune_place<decltype(&::Copied::n), &::Copied::n>>>(Copied(3));
    // Another type, or fewer arguments than there were when the kernel was looked at.
    tell<cutune_member< ::Grid, 0, cutune_place<decltype(&::Grid::nx), &::Grid::nx>>>(packed);
    tell<cutune_member< ::Grid, 1, cutune_place<decltype(&::Grid::nx), &::Grid::nx>>>(grid);
    const dim3 three(3, 4);
    tell<cutune_member< ::dim3, 0, cutune_place<decltype(&::dim3::z), &::dim3::z>>>(three);
    const long long bits =
        cutune_integer_bits<int, Grid, cutune_member_value, cutune_unseen>::value;
    printf("%lld\n", bits);
}
