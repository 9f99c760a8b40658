// What versions of blocks know of operations, by their names: see machine_version.h.
#include <cstring>

#include "machine_version.h"

namespace cutune {

std::unordered_map<std::string, Form>& forms() {
    static std::unordered_map<std::string, Form> all;
    return all;
}

namespace {

bool begins(const std::string& name, const char* prefix) {
    return name.compare(0, strlen(prefix), prefix) == 0;
}

// Special registers that hold one number for all threads of a warp.
constexpr const char* SAME[] = {"special_ntid_", "special_ctaid_", "special_nctaid_",
                                "special_warpid", "special_nwarpid"};

void add_role(const std::string& name, Form& form) {
    const bool is_load = begins(name, "ld_"), is_store = begins(name, "st_");
    if (is_load || is_store) {
        form.role = is_load ? Form::load : Form::store;
        form.elements = name.find("_v2_") != std::string::npos   ? 2
                        : name.find("_v4_") != std::string::npos ? 4
                                                                 : 1;
        form.width[0] = name.compare(name.size() - 3, 3, "b64") == 0 ? 8 : 4;
    }
    for (const char* prefix : SAME)
        if (begins(name, prefix)) form.role = Form::same, form.width[0] = 4;
    if (begins(name, "ld_param_")) form.role = Form::same;
    if (begins(name, "special_tid_")) form.role = Form::thread, form.axis = u8(name.back() - 'x');
    for (const char* prefix : {"call", "matrix_", "texture_", "surface_"})
        if (begins(name, prefix)) form.role = Form::tabled;
    if (name == "fma_f32") form.sums_products = true;
    form.loads_words = name == "ld_global_b32" || name == "ld_shared_b32";
    if (name == "unguard" || name == "nop" || name == "fence") form.role = Form::empty;
    if (name == "guard") form.role = Form::guard;
    if (name == "jump") form.role = Form::jump;
    if (name == "branch") form.role = Form::branch;
    if (name == "barrier" || name == "warp_barrier") form.role = Form::barrier;
    if (name == "exit" || name == "ret") form.role = Form::end;
}

}  // namespace

const Form* form_of(const std::string& name) {
    static const std::unordered_map<std::string, Form> known = [] {
        for (const auto& each : handlers()) forms()[each.first];
        for (auto& each : forms()) add_role(each.first, each.second);
        return forms();
    }();
    return &known.at(name);
}

}  // namespace cutune
