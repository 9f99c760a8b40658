"""PTX as data: statements, control flow, and what values depend on.

A new instruction is read as it is: `parse` knows no opcodes. What it does is told in these places:

- `types`: the sets of opcodes by their effect, from which `taint`, `units` and `leaps` conclude;
- `emulator/native/machine_*.cpp`: its handler. `emulator/lower/dispatch` finds that by its name;
  an instruction of another form than `op d, a, b, c` has a row in the table there. What versions
  of blocks may know of it stands in `machine_forms` and `machine_steps_*`; they do without, too;
- `proof/values/operations` (`FUNCTIONS`): its value, and `proof/memory` and `proof/collectives`
  where it reaches memory or other threads. Without this a kernel that holds it is not proven.
"""
