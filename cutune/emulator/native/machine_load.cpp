// Loads assembled modules. cutune/emulator/assemble.py writes the layout of an image.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

#include "machine_version.h"

namespace cutune {

std::unordered_map<std::string, Handler>& handlers() {
    static std::unordered_map<std::string, Handler> all;
    return all;
}

namespace {

constexpr char MAGIC[9] = "CUTUNE-3";
// More than any GPU has.
constexpr u64 MOST_VARIABLE_BYTES = u64(1) << 36;

struct Malformed {
    std::string reason;
};

class Reader {
  public:
    Reader(const u8* bytes, size_t size) : next_(bytes), end_(bytes + size) {}
    template <class T> T number() {
        T value;
        memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    u32 u() { return number<u32>(); }
    // Reads a word for each of these fields, in their order.
    template <class... Field> void words(Field&... fields) {
        ((fields = static_cast<Field>(u())), ...);
    }
    std::string text() {
        const u32 size = u();
        return std::string(reinterpret_cast<const char*>(take(size)), size);
    }
    const u8* take(size_t size) {
        if (size > size_t(end_ - next_)) throw Malformed{"the image is too short"};
        const u8* here = next_;
        next_ += size;
        return here;
    }

  private:
    const u8* next_;
    const u8* end_;
};

struct Relocation {
    u64 offset;
    std::string name;
    s64 addend;
};

std::vector<Relocation> relocations(Reader& in) {
    std::vector<Relocation> found(in.u());
    for (Relocation& r : found) {
        r.offset = in.number<u64>();
        r.name = in.text();
        r.addend = in.number<s64>();
    }
    return found;
}

// The address of a variable, or what stands for the address of a function.
u64 address_of(const ModuleImage& module, const std::string& name) {
    const auto shared = module.elsewhere.find(name);
    if (shared != module.elsewhere.end()) return shared->second;
    const auto variable = module.variable_of.find(name);
    if (variable != module.variable_of.end()) return module.variables[variable->second].address;
    const auto function = module.function_of.find(name);
    if (function != module.function_of.end()) return function->second + 1;
    throw Malformed{"unknown name " + name};
}

void read_variables(Reader& in, ModuleImage& module,
                    std::vector<std::vector<Relocation>>& pending) {
    struct Placed {
        u64 offset;
        const u8* initial;
        u32 initial_size;
    };
    std::vector<Placed> placed;
    u64 total = 0;
    const u32 count = in.u();
    for (u32 k = 0; k < count; k++) {
        Variable variable;
        variable.name = in.text();
        const u32 alignment = in.u();
        variable.size = in.number<u64>();
        const u32 initial_size = in.u();
        total = (total + alignment - 1) / alignment * alignment;
        placed.push_back({total, in.take(initial_size), initial_size});
        // As device memory: aligned, and with a gap that catches an access past the end.
        total = (total + variable.size + 64 + 255) / 256 * 256;
        pending.push_back(relocations(in));
        module.variable_of[variable.name] = k;
        module.variables.push_back(variable);
    }
    if (total > MOST_VARIABLE_BYTES) throw Malformed{"global variables of more than 64 GiB"};
    module.variable_memory.reset(new u8[total + 256]());
    const u64 base = (reinterpret_cast<u64>(module.variable_memory.get()) + 255) / 256 * 256;
    module.variable_base = base;
    module.variable_bytes = total;
    for (u32 k = 0; k < count; k++) {
        module.variables[k].address = base + placed[k].offset;
        memcpy(reinterpret_cast<u8*>(module.variables[k].address), placed[k].initial,
               placed[k].initial_size);
    }
}

void read_functions(Reader& in, ModuleImage& module,
                    std::vector<std::vector<Relocation>>& pending) {
    module.functions.resize(in.u());
    for (Function& function : module.functions) {
        KernelCode& code = function.code;
        code.name = in.text();
        in.words(function.is_kernel, function.calls, function.register_bytes, code.local_bytes,
                 code.static_shared_bytes, code.max_threads, code.parameter_bytes,
                 function.first_block, function.block_count);
        const u32 parameters = in.u();
        for (u32 k = 0; k < parameters; k++) {
            code.parameter_offsets.push_back(in.u());
            code.parameter_sizes.push_back(in.u());
        }
        const u32 constants = in.u();
        const u8* bytes = in.take(constants);
        function.constants.assign(bytes, bytes + constants);
        pending.push_back(relocations(in));
        module.function_of[code.name] = &function - module.functions.data();
    }
}

LeapSum read_sum(Reader& in) {
    LeapSum sum;
    sum.number = in.number<u64>();
    sum.terms.resize(in.u());
    for (LeapTerm& term : sum.terms) {
        in.words(term.from.offset, term.from.width);
        term.count = in.number<s64>();
    }
    return sum;
}

std::unique_ptr<Leap> read_leap(Reader& in) {
    std::unique_ptr<Leap> leap(new Leap());
    in.words(leap->comparison, leap->is_signed, leap->width, leap->tested);
    leap->ahead = read_sum(in);
    leap->bound = read_sum(in);
    leap->steps.resize(in.u());
    for (LeapStep& each : leap->steps) {
        in.words(each.to.offset, each.to.width);
        each.step = read_sum(in);
    }
    if (leap->tested >= leap->steps.size()) throw Malformed{"a leap that tests nothing"};
    return leap;
}

struct Used {
    Handler handler;
    const Form* form;
};

void read_code(Reader& in, ModuleImage& module, const std::vector<Used>& used) {
    module.code.resize(in.u());
    for (Instruction& i : module.code) {
        const Used& operation = used.at(in.u());
        i.handler = operation.handler;
        module.forms.push_back(operation.form);
        in.words(i.d, i.a, i.b, i.c, i.x, i.flags);
        i.imm = in.number<s64>();
        module.lines.push_back(in.u());
        module.source_lines.push_back(in.u());
    }
    const u32 blocks = in.u();
    for (u32 k = 0; k < blocks; k++) {
        const u32 first = in.u();
        if (first >= module.code.size()) throw Malformed{"a block begins behind the code"};
        const u32 instructions = in.u();
        Block block;
        block.first = &module.code[first];
        block.instructions = instructions;
        block.index = k;
        if (in.u()) block.leap = read_leap(in);
        module.blocks.push_back(std::move(block));
    }
    module.operands.resize(in.u());
    for (u32& operand : module.operands) operand = in.u();
    module.sites.resize(in.u());
    for (StaticSite& site : module.sites) {
        in.words(site.bytes, site.region, site.block, site.kind, site.space, site.guarded,
                 site.vector);
        if (site.block >= module.blocks.size()) throw Malformed{"a site in no block"};
        Block& block = module.blocks[site.block];
        if (!block.site_count++) block.first_site = u32(&site - module.sites.data());
        if (site.space == GLOBAL_SPACE || site.space == GENERIC_SPACE)
            block.touches = FULL;
        module.region_count = std::max(module.region_count, site.region + 1);
    }
}

// ---- may blocks run at once? ------------------------------------------------------------------

// Operations by which blocks communicate, or whose result depends on the order of blocks: output,
// the heap, clocks.
bool orders_blocks(const std::string& name) {
    for (const char* prefix : {"call_vprintf", "call_malloc", "call_free", "special_clock",
                               "special_globaltimer", "call_indirect"})
        if (name.compare(0, strlen(prefix), prefix) == 0) return true;
    return false;
}

// Integer atomics whose effect on memory does not depend on their order, if no result is read.
bool commutes(const std::string& name) {
    if (name.find("_f") != std::string::npos || name.find("_bf") != std::string::npos) return false;
    for (const char* prefix : {"atom_add_", "atom_min_", "atom_max_", "atom_and_", "atom_or_",
                               "atom_xor_"})
        if (name.compare(0, strlen(prefix), prefix) == 0) return true;
    return false;
}

struct Effects {
    bool orders = false;    // its blocks must run in turn
    bool anywhere = false;  // it may call any function
    std::vector<u32> calls;
};

Effects effects_of(const ModuleImage& module, const Instruction* i, const Instruction* end,
                   const std::unordered_map<Handler, std::string>& names) {
    Effects effects;
    for (; i < end; i++) {
        const std::string& name = names.at(i->handler);
        if (orders_blocks(name)) effects.orders = true;
        if (name.compare(0, 13, "call_indirect") == 0) effects.anywhere = true;
        if (name == "call") effects.calls.push_back(static_cast<u32>(i->imm));
        const bool atomic = name.compare(0, 5, "atom_") == 0;
        const bool memory =
            atomic || name.compare(0, 3, "ld_") == 0 || name.compare(0, 3, "st_") == 0;
        if (!memory || (i->flags & SHARED) || name.compare(0, 9, "ld_param_") == 0) continue;
        if (atomic ? !commutes(name) || i->d != NO_REGISTER : (i->flags & SPINNING) != 0)
            effects.orders = true;
    }
    return effects;
}

// The sites from the first to the last of some functions.
void reach_sites(const ModuleImage& module, const std::vector<u32>& reached, Function& function) {
    u32 first = u32(module.sites.size()), end = 0;
    for (const u32 k : reached) {
        const Function& own = module.functions[k];
        for (u32 b = own.first_block; b < own.first_block + own.block_count; b++) {
            const Block& block = module.blocks[b];
            if (!block.site_count) continue;
            first = std::min(first, block.first_site);
            end = std::max(end, block.first_site + block.site_count);
        }
    }
    function.first_site = std::min(first, end);
    function.end_site = end;
}

void judge_functions(ModuleImage& module, const std::unordered_map<Handler, std::string>& names) {
    std::vector<Effects> effects;
    const Instruction* const end = module.code.data() + module.code.size();
    for (size_t k = 0; k < module.functions.size(); k++) {
        const Function& function = module.functions[k];
        const u32 behind = function.first_block + function.block_count;
        effects.push_back(effects_of(
            module, module.blocks[function.first_block].first,
            behind < module.blocks.size() ? module.blocks[behind].first : end, names));
    }
    for (size_t k = 0; k < module.functions.size(); k++) {
        std::vector<u32> reached{static_cast<u32>(k)};
        bool orders = false, anywhere = false;
        for (size_t n = 0; n < reached.size(); n++) {
            const Effects& found = effects[reached[n]];
            orders |= found.orders;
            anywhere |= found.anywhere;
            for (const u32 callee : found.calls)
                if (std::find(reached.begin(), reached.end(), callee) == reached.end())
                    reached.push_back(callee);
        }
        module.functions[k].independent = !orders;
        if (anywhere) {
            reached.resize(module.functions.size());
            std::iota(reached.begin(), reached.end(), 0);
        }
        reach_sites(module, reached, module.functions[k]);
    }
}

void read_module(Reader& in, ModuleImage& module) {
    if (memcmp(in.take(8), MAGIC, 8) != 0) throw Malformed{"not an assembled module"};
    std::vector<Used> used(in.u());
    std::unordered_map<Handler, std::string> names;
    for (Used& operation : used) {
        const std::string name = in.text();
        const auto found = handlers().find(name);
        if (found == handlers().end()) throw Malformed{"unknown operation " + name};
        operation = {found->second, form_of(name)};
        names[operation.handler] = name;
    }
    std::vector<std::vector<Relocation>> in_variables, in_functions;
    read_variables(in, module, in_variables);
    read_functions(in, module, in_functions);
    for (size_t k = 0; k < in_variables.size(); k++)
        for (const Relocation& r : in_variables[k]) {
            const u64 value = address_of(module, r.name) + r.addend;
            memcpy(reinterpret_cast<u8*>(module.variables[k].address + r.offset), &value, 8);
        }
    for (size_t k = 0; k < in_functions.size(); k++)
        for (const Relocation& r : in_functions[k]) {
            const u64 value = address_of(module, r.name) + r.addend;
            for (u32 l = 0; l < LANES; l++)
                memcpy(&module.functions[k].constants.at(r.offset + 8 * l), &value, 8);
        }
    read_code(in, module, used);
    judge_functions(module, names);
    for (Function& function : module.functions) {
        function.code.block_count = module.blocks.size();
        function.code.site_count = module.sites.size();
    }
}

}  // namespace

ModuleImage* load_module(const uint8_t* bytes, size_t size, std::string* error,
                         const Addresses& elsewhere) {
    auto module = std::make_unique<ModuleImage>();
    module->elsewhere = elsewhere;
    try {
        Reader in(bytes, size);
        read_module(in, *module);
        return module.release();
    } catch (const Malformed& malformed) {
        *error = malformed.reason;
        return nullptr;
    } catch (const std::bad_alloc&) {
        *error = "its global variables need more memory than there is";
        return nullptr;
    }
}

void unload_module(ModuleImage* module) { delete module; }

const KernelCode* find_kernel(const ModuleImage* module, const std::string& name) {
    const auto found = module->function_of.find(name);
    if (found == module->function_of.end()) return nullptr;
    const Function& function = module->functions[found->second];
    return function.is_kernel ? &function.code : nullptr;
}

uint64_t module_variable(ModuleImage* module, const std::string& name, uint64_t* size) {
    const auto found = module->variable_of.find(name);
    if (found == module->variable_of.end()) return 0;
    const Variable& variable = module->variables[found->second];
    if (size) *size = variable.size;
    return address_of(*module, name);
}

}  // namespace cutune
