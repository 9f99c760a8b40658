"""Verdicts on compiled kernels in few words, for tables of cases."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from math import prod
from pathlib import Path

from cutune.core.temporary import temporary_folder
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.polynomial import PARAMETER, Atom, IntegerPolynomial, to_c
from cutune.ptx.parse import parse
from cutune.ptx.types import WHOLE_PROGRAM, Module
from cutune.toolchain import device_code
from cutune.toolchain.nvcc import find_nvcc

#: What the kernels of `compiled` get, and the names of these by their places.
PARAMETERS = "float *a, const float *b, int n, int m, int *c"
NAMES = {"0:0:b64": "a", "1:0:b64": "b", "2:0:b32": "n", "3:0:b32": "m", "4:0:b64": "c"}


def compiled(
    bodies: Mapping[str, str],
    before: str,
    parameters: str = PARAMETERS,
    bounded: Container[str] = (),
) -> Module:
    """A kernel for each name, of this body. `before`: what stands before all of them.

    `bounded`: those that are for blocks of up to 256 threads, of which fewer are to be looked at.
    """
    bounds = {name: "__launch_bounds__(256) " if name in bounded else "" for name in bodies}
    kernels = "".join(
        f'extern "C" __global__ void {bounds[name]}{name}({parameters}) {{ {body} }}\n'
        for name, body in bodies.items()
    )
    return module_of(before + kernels)


def kernels_by_section(source: Path) -> Mapping[str, Sequence[str]]:
    """Return the names that stand in `KERNEL(…)` behind each line `// ---- section`."""
    sections = re.findall(
        r"^// ---- (\w+)$(.*?)(?=^// ----|\Z)", source.read_text(), re.MULTILINE | re.DOTALL
    )
    return {title: re.findall(r"^KERNEL\((\w+)\)", text, re.MULTILINE) for title, text in sections}


def module_of(text: str) -> Module:
    """The code of a source, which may hold code of other sources as well; it is kept."""
    with temporary_folder() as folder:
        path = Path(folder) / "kernels.cu"
        path.write_text(text)
        return parse(device_code.compiled(find_nvcc(), str(path)).ptx.removesuffix(WHOLE_PROGRAM))


def described(proof: EntryProof, names: Mapping[str, str]) -> str:
    """The verdict. `names`: those of parameters by their places."""
    if proof.refused is not None:
        assert "is not read" not in proof.refused.message, proof.refused.message
        return proof.refused.code.number
    said = []
    for name, dimension in zip("xyz", proof.dimensions, strict=True):
        if dimension.raw is not None:
            said.append(f"{name} raw")
        elif dimension.grid_kept:
            said.append(f"rows {name}")
        elif dimension.indexed:
            limits = [(bound.step, _text(bound.limit, names)) for bound in dimension.bounds]
            steps = [f"{step} * {name}" if step > 1 else name for step, _ in limits]
            said += [f"{n} < {limit}" for n, (_, limit) in zip(steps, limits, strict=True)] or [
                name
            ]
    said += [
        f"stride {d}" for d, one in zip("xyz", proof.dimensions, strict=True) if one.grid_stride
    ]
    kept = any(dimension.grid_kept for dimension in proof.dimensions)
    if not kept and any(word.endswith("raw") for word in said):
        return "; ".join(said)
    said += ["warps"] if proof.needs_warps else []
    said += [f"meet {one[0]} {other[0]}" for one, other in proof.pointers]
    said += [
        f"apart {_text(s.larger, names)} >= {_text(s.smaller, names)} * {'xyz1'[s.dimension]}"
        for s in proof.spreads
    ]
    return "; ".join(said)


def limits_of(proof: EntryProof, names: Mapping[str, str]) -> list[str]:
    """The limits of loops that any number of threads may share. `names`: those of parameters."""
    return [_text(limit, names) for limit in proof.dimensions[0].free_up_to]


def _text(value: IntegerPolynomial, names: Mapping[str, str]) -> str:
    terms = {
        tuple(sorted(Atom(PARAMETER, names.get(atom.name, "?")) for atom in monomial)): coefficient
        for monomial, coefficient in value.terms
    }
    return to_c(IntegerPolynomial.of(terms))


def value_of(
    polynomial: IntegerPolynomial, sizes: Mapping[str, int], names: Mapping[str, str]
) -> int:
    """The number at some sizes. `names`: those of parameters by their places."""
    return sum(
        coefficient * prod(sizes[names[atom.name]] for atom in monomial)
        for monomial, coefficient in polynomial.terms
    )
