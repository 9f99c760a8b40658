"""Sets of PTX opcodes by their effect, for the analyses and the lowering."""

from __future__ import annotations


def _opcodes(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: End a thread.
LEAVING = _opcodes("ret exit")
BRANCHES = _opcodes("bra brx")
#: Wait for all warps of the block.
BARRIERS = _opcodes("bar barrier")
ATOMICS = _opcodes("atom red")
LOADS = _opcodes("ld ldu")
#: Access memory by an address among their operands, and count as such.
MEMORY = LOADS | ATOMICS | {"st"}
#: Access memory in ways that are not among the counters.
UNCOUNTED = _opcodes("tex tld4 suld sust wmma")
#: Hints and other instructions without an effect on the emulated device.
HINTS = _opcodes(
    """
    prefetch prefetchu discard applypriority nanosleep pmevent
    griddepcontrol setmaxnreg brkpt createpolicy
    """
)
#: Write no register.
WITHOUT_RESULT = (
    LEAVING
    | BRANCHES
    | BARRIERS
    | _opcodes(
        """
        st sust red membar fence trap call prefetch prefetchu nanosleep discard applypriority cp
        brkpt pmevent
        """
    )
)
#: Decide what is executed, or which memory is accessed.
STEERING = LEAVING | BRANCHES | BARRIERS | MEMORY | {"call", "trap"}
#: May not be skipped or repeated by some of the threads.
BINDING = LEAVING | BARRIERS | {"brx", "call", "trap"}
#: Their result differs between threads, whatever their operands are.
VARYING = _opcodes("ldu atom tex tld4 suld shfl vote match redux activemask call")
#: Read registers, write registers, and do nothing else.
ARITHMETIC = _opcodes(
    """
    abs add and bfe bfi bfind brev clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fma fns lg2 lop3
    mad mad24 max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr
    sin slct sqrt sub tanh testp vabsdiff2 vabsdiff4 xor
    """
)
#: Arithmetic that takes no issue slot of its own after ptxas.
NOT_ISSUED = _opcodes("mov cvta selp cvt")
#: Arithmetic that ptxas makes a branch of, to a slow path for exponents at the end of the range,
#: denormal numbers and the like, if it rounds as IEEE 754 wants it, by one of these modifiers.
SLOW_PATHS = _opcodes("div rcp sqrt")
ROUNDINGS = _opcodes("rn rz rm rp")
#: Arithmetic of the special-function units.
SPECIAL = _opcodes("rcp sqrt rsqrt sin cos lg2 ex2 tanh")
