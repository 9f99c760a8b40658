// Makes a version of a basic block, instruction by instruction: see machine_version.h.
//
// A version has a step for each instruction of its block, before it a step for each register that
// has to be spread, and around it what the instruction needs: a fast handler stands before the
// plain one of a memory instruction and returns to what follows both, or to the plain one.
#pragma once
#include "machine_steps.h"

namespace cutune {

// Makes one version, instruction by instruction.
class Translation {
  public:
    Translation(Versions& versions, Version& version)
        : versions_(versions), x_(versions.x_), version_(version), shapes_(version.entry) {}

    void run() {
        const Instruction* const end = end_of(x_.module, *version_.block);
        for (const Instruction* i = version_.block->first; i < end; i++) {
            origin_ = u32(i - x_.module.code.data());
            if (i + 1 == end) last(*i);
            else i += translate(*i);
        }
        version_.exit = shapes_;
    }

  private:
    static bool is_scalar(u8 shape) { return shape & (UNIFORM_SHAPE | STEPPED); }
    u8& shape(u32 offset) { return shapes_[offset / SHAPE_BYTES]; }

    void step(Handler handler, const Instruction& like) {
        version_.steps.push_back(like);
        version_.steps.back().handler = handler;
        version_.origins.push_back(origin_);
    }
    void plain(const Instruction& i) { step(i.handler, i); }

    void to_lanes(u32 offset) {
        if (offset / SHAPE_BYTES >= shapes_.size() || offset % SHAPE_BYTES) return;
        u8& known = shape(offset);
        if (known & IN_LANES) return;
        Instruction i{};
        i.a = offset;
        step(spreading(known), i);
        known |= IN_LANES;
    }
    void all_to_lanes() {
        for (u32 k = 0; k < shapes_.size(); k++) to_lanes(k * SHAPE_BYTES);
    }
    void written(u32 offset) {
        if (offset / SHAPE_BYTES < shapes_.size()) shape(offset) = IN_LANES;
    }
    void all_written() {
        all_to_lanes();
        shapes_ = versions_.plain_;
    }

    // Constants are in their lanes; their number is taken when it is first needed.
    u8 operand(u32 offset, u8 width) {
        if (!width) return UNIFORM_SHAPE;
        if (offset >= versions_.constants_) versions_.use_constant(offset, width);
        return shape(offset);
    }

    // Gives how many further instructions were translated.
    u32 translate(const Instruction& i) {
        const Form& form = *x_.module.forms[origin_];
        if (form.role != Form::load && !form.sums_products) loads_.clear();
        switch (form.role) {
            case Form::regular: regular(i, form); return 0;
            case Form::same: same(i, form); return 0;
            case Form::thread: thread(i, form); return 0;
            case Form::load: load(i, form); return 0;
            case Form::store: store(i, form); return 0;
            case Form::guard: return guarded(i);
            default: other(i); return 0;
        }
    }

    void regular(const Instruction& i, const Form& form) {
        const u8 a = operand(i.a, form.width[1]), b = operand(i.b, form.width[2]),
                 c = operand(i.c, form.width[3]);
        const u8 wide = form.width[0] == 8 ? WIDE : 0;
        if (a & b & c & UNIFORM_SHAPE && form.uniform) {
            step(form.uniform, i);
            shape(i.d) = UNIFORM_SHAPE | wide;
        } else if (form.stepped && is_scalar(a) && is_scalar(b) && is_scalar(c) &&
                   form.fits(a, b, c)) {
            version_.retreats.emplace_back(version_.steps.size(), shapes_);
            step(form.stepped, i);
            shape(i.d) = STEPPED | wide;
        } else {
            in_lanes(i, form, (a & UNIFORM_SHAPE ? 1 : 0) | (b & UNIFORM_SHAPE ? 2 : 0) |
                                  (c & UNIFORM_SHAPE ? 4 : 0));
            written(i.d);
        }
    }
    void in_lanes(const Instruction& i, const Form& form, u32 uniform) {
        const u32 offsets[] = {i.a, i.b, i.c};
        u32 operands = 0;
        for (u32 k = 0; k < 3; k++) operands |= (form.width[k + 1] ? 1 : 0) << k;
        const Handler mixed = form.mixed[uniform & operands];
        for (u32 k = 0; k < 3; k++)
            if (operands >> k & 1 && !(mixed && uniform >> k & 1)) to_lanes(offsets[k]);
        step(mixed ? mixed : i.handler, i);
        if (form.sums_products) fuse(i, u32(version_.steps.size() - 1));
        loads_.clear();
    }

    // A load that may be fused with what follows it.
    struct Load {
        const Instruction* i;
        u32 first, last;  // its steps
        bool one;
    };
    // The loads right before a sum of products get a step before them that does all of it.
    void fuse(const Instruction& i, u32 sum) {
        if (loads_.size() < 2 || !(shape(i.c) & IN_LANES)) return;
        const Load &a = loads_[loads_.size() - 2], &b = loads_.back();
        const bool read = (a.i->d == i.a && b.i->d == i.b) || (a.i->d == i.b && b.i->d == i.a);
        if (!read || a.last + 1 != b.first || b.last + 1 != sum ||
            (a.i->flags ^ b.i->flags) & SHARED || versions_.mentions(a.i->d) != 2 ||
            versions_.mentions(b.i->d) != 2)
            return;
        const Handler fused =
            fused_products(a.i->flags & SHARED, a.one, b.one, x_.lattice.columns);
        if (!fused) return;
        Instruction all{};
        all.handler = fused;
        version_.steps.insert(version_.steps.begin() + a.first, all);
        version_.origins.insert(version_.origins.begin() + a.first, version_.origins[a.first]);
    }
    void operands_to_lanes(const Instruction& i, const Form& form) {
        const u32 offsets[] = {i.a, i.b, i.c};
        for (u32 k = 0; k < 3; k++)
            if (form.width[k + 1]) to_lanes(offsets[k]);
    }

    // The register is written as ever, and what it holds is noted besides.
    void same(const Instruction& i, const Form& form) {
        plain(i);
        step(noting(form.width[0]), i);
        shape(i.d) = IN_LANES | UNIFORM_SHAPE | (form.width[0] == 8 ? WIDE : 0);
    }
    void thread(const Instruction& i, const Form& form) {
        plain(i);
        written(i.d);
        const bool* const of = versions_.of_threads_[form.axis];
        if (!of[0]) return;
        Instruction note = i;
        note.x = form.axis;
        step(note_thread, note);
        shape(i.d) = IN_LANES | (of[1] ? UNIFORM_SHAPE : STEPPED);
    }

    void load(const Instruction& i, const Form& form) {
        const u8 address = operand(i.a, i.flags & SHARED ? 4 : 8);
        const bool may = !(i.flags & (GUARDED | SPINNING)) && form.elements == 1;
        if (may && address & UNIFORM_SHAPE && form.stepped) {
            step(form.at_one[versions_.traced_], i);
            plain(i);
            step(noting(form.width[0]), i);
            shape(i.d) = UNIFORM_SHAPE | (form.width[0] == 8 ? WIDE : 0);
            return loaded(i, form, 3, true);
        }
        const bool stepped = may && address & STEPPED && form.stepped;
        if (stepped) step(in_steps(form), i);
        else to_lanes(i.a);
        plain(i);
        if (stepped) loaded(i, form, 2, false);
        else loads_.clear();
        if (form.elements == 1) return written(i.d);
        for (u32 k = 0; k < form.elements; k++) written(table(i)[k]);
    }
    void loaded(const Instruction& i, const Form& form, u32 count, bool one) {
        const u32 behind = u32(version_.steps.size());
        if (form.loads_words && !versions_.traced_)
            loads_.push_back({&i, behind - count, behind - 1, one});
        else
            loads_.clear();
    }
    void store(const Instruction& i, const Form& form) {
        for (u32 k = 0; k < form.elements; k++) to_lanes(form.elements == 1 ? i.b : table(i)[k]);
        const u8 address = operand(i.a, i.flags & SHARED ? 4 : 8);
        const bool may = !(i.flags & (GUARDED | SPINNING)) && form.elements == 1;
        if (may && is_scalar(address) && form.stepped)
            step(address & UNIFORM_SHAPE ? form.at_one[versions_.traced_] : in_steps(form), i);
        else
            to_lanes(i.a);
        plain(i);
    }
    Handler in_steps(const Form& form) const {
        const u32 columns = x_.lattice.columns;
        const Handler* const rows = form.in_rows[versions_.traced_];
        const Handler found = columns == 32   ? rows[0]
                              : columns == 16 ? rows[1]
                              : columns == 8  ? rows[2]
                                              : nullptr;
        return found ? found : form.stepped;
    }
    const u32* table(const Instruction& i) const {
        return &x_.module.operands[further_operands(i)];
    }

    // Some lanes or none run what stands between a guard and its end, so all of it uses lanes.
    u32 guarded(const Instruction& i) {
        to_lanes(i.a);
        const u32 first = origin_;
        for (u32 k = 1; k <= i.x; k++) {
            origin_ = first + k;
            mentioned_to_lanes((&i)[k]);
        }
        for (u32 k = 0; k <= i.x; k++) {
            origin_ = first + k;
            plain((&i)[k]);
        }
        for (u32 k = 1; k <= i.x; k++) {
            origin_ = first + k;
            mentioned_written((&i)[k]);
        }
        return i.x;
    }
    void other(const Instruction& i) {
        mentioned_to_lanes(i);
        plain(i);
        mentioned_written(i);
    }
    bool has_table(const Instruction& i) const {
        const Form& form = *x_.module.forms[origin_];
        return form.role == Form::tabled || (form.role == Form::other && further_operands(i));
    }
    void mentioned_to_lanes(const Instruction& i) {
        const Form& form = *x_.module.forms[origin_];
        if (has_table(i)) return all_to_lanes();
        if (form.role == Form::empty) return;
        to_lanes(i.d);
        if (form.role == Form::regular) return operands_to_lanes(i, form);
        for (const u32 offset : {i.a, i.b, i.c, i.x}) to_lanes(offset);
        for (u32 k = 0; k < form.elements && form.elements > 1; k++) to_lanes(table(i)[k]);
    }
    void mentioned_written(const Instruction& i) {
        const Form& form = *x_.module.forms[origin_];
        if (has_table(i)) return all_written();
        if (form.role == Form::empty || form.role == Form::store) return;
        for (u32 k = 0; k < form.elements && form.elements > 1; k++) written(table(i)[k]);
        if (i.d < versions_.constants_) written(i.d);
        if (form.role == Form::other && i.x % SHAPE_BYTES == 0 && i.x < versions_.constants_)
            written(i.x);
    }

    // What ends a block says where the warp goes on.
    void last(const Instruction& i) {
        const Form& form = *x_.module.forms[origin_];
        if (form.role == Form::jump) {
            step(jump_on, i);
        } else if (form.role == Form::branch) {
            const bool uniform = operand(i.a, 4) & UNIFORM_SHAPE;
            if (!uniform) to_lanes(i.a);
            step(uniform ? branch_together : branch_on, i);
            plain(i);
        } else if (form.role == Form::barrier && !further_operands(i)) {
            to_lanes(i.a);
            to_lanes(i.b);
            step(go_on_behind, i);
            plain(i);
        } else if (form.role == Form::end) {
            step(forget, i);
            plain(i);
        } else {
            all_to_lanes();
            step(forget, i);
            plain(i);
        }
    }

    Versions& versions_;
    Execution& x_;
    Version& version_;
    Shapes shapes_;
    std::vector<Load> loads_;  // right before this instruction
    u32 origin_ = 0;
};

}  // namespace cutune
