// What cutune_member says of structures: value, argument, offset, bytes and sign of a member.
#include <stdio.h>

#include "cutune_launch.h"
#include "cutune_member.h"

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

struct Wrapper {
    int nx;
    operator Grid() const {
        const Grid grid = {0, true, 2 * nx, {-3, 4}};
        return grid;
    }
};

void say(const cutune_member_value &member) {
    printf("%lld %d %d %d %d\n", cutune_integer(member), member.argument, member.offset,
           member.bytes, member.is_signed ? 1 : 0);
}

void say(const cutune_unseen &) { printf("unseen\n"); }

}  // namespace

int main() {
    const Grid grid = {0.5, true, -7, {-3, 1ull << 40}};
    say(cutune_member< ::Grid, 0>(grid, &::Grid::nx));
    say(cutune_member< ::Grid, 2>(grid, &::Grid::z, &::Range::from));
    say(cutune_member< ::Grid, 2>(grid, &::Grid::z, &::Range::to));
    say(cutune_member< ::Grid, 0>(grid, &::Grid::flag));
    say(cutune_member< ::Grid, 0>(grid, &::Grid::h));
    const Packed packed = {'a', 4000000000u};
    say(cutune_member< ::Packed, 1>(packed, &::Packed::n));
    // What the kernel gets is not what is written at the launch.
    say(cutune_member< ::Copied, 0>(Copied(3), &::Copied::n));
    const Wrapper wrapper = {21};
    say(cutune_member< ::Grid, 0>(wrapper, &::Grid::nx));
    say(cutune_member< ::Grid, 0>({1.0, false, 9, {1, 2}}, &::Grid::nx));
    const dim3 three(3, 4);
    say(cutune_member< ::dim3, 0>(three, &::dim3::z));
    const long long bits =
        cutune_integer_bits<int, Grid, cutune_member_value, cutune_unseen>::value;
    printf("%lld\n", bits);
}
