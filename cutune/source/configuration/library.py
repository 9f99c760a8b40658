"""Functions of CUDA C++ whose value depends on their arguments alone. Takes a name, tells them."""

from __future__ import annotations

import re

from cutune.source.syntax.tokens import word_set

_DOUBLE_MATH = word_set(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0
    cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor
    fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p
    log2 logb lrint lround modf nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv
    pow powi rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln
    scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn
    """
)

_INTEGER_AND_BITS = word_set(
    """
    abs labs llabs min max umin umax ullmin ullmax llmin llmax div isnan isinf isfinite
    signbit isnormal __brev __brevll __byte_perm __clz __clzll __ffs __ffsll __popc __popcll
    __hadd __mul24 __mul64hi __mulhi __rhadd __sad __uhadd __umul24 __umul64hi __umulhi
    __urhadd __usad __dp2a_hi __dp2a_lo __dp4a __funnelshift_l __funnelshift_lc
    __funnelshift_r __funnelshift_rc __vadd4 __vsub4 __float_as_int __int_as_float
    __float_as_uint __uint_as_float __double_as_longlong __longlong_as_double __double2hiint
    __double2loint __hiloint2double __saturatef __fdividef __sinf __cosf __tanf __expf
    __exp10f __logf __log2f __log10f __powf __sincosf __frsqrt_rn __nv_fabs clamp move forward
    get make_pair make_tuple norm real imag conj arg polar cuCreal cuCimag cuCadd cuCmul
    cuCsub cuCdiv cuCabs cuConj make_cuComplex make_cuDoubleComplex make_cuFloatComplex
    cuCrealf cuCimagf cuCaddf cuCmulf cuCsubf cuCdivf cuCabsf cuConjf cuCfmaf cuCfma __ldg
    __ldcg __ldca __ldcs __ldlu __ldcv sizeof alignof offsetof __builtin_expect
    __builtin_assume_aligned __construct __init static_assert UINT32_C UINT64_C INT64_C
    INT32_C __isnan __isinf __isnanf __isinff __finite __finitef __signbit __signbitf
    __signbitd __builtin_nanf __builtin_inff __builtin_huge_valf __builtin_huge_val
    __builtin_fabs __isnand __isinfd
    """
)

#: Library functions in namespace std (and cuda::std) that the table may answer for.
_QUALIFIED = re.compile(r"^(?:cuda\$)?(?:std\$)?(?:numeric_limits\$)?")

_PURE_PATTERNS = re.compile(
    r"(?:make_(?:u?(?:char|short|int|long|longlong)|float|double|half|bfloat16)[1234]"
    r"|__(?:float|double|int|uint|ll|ull|half|short|ushort|bfloat16|high|low|hiloint|half2|halves|char|uchar)"
    r"2\w+|__[hd]\w+_r[nzud]|__[fd](?:add|sub|mul|div|ma|maf|sqrt|rcp|rsqrt)_r[nzud]|__f\w+_r[nzud]"
    r"|__h(?:add|sub|mul|div|fma|neg|abs|eq|ne|lt|le|gt|ge|min|max|isnan|isinf|trunc)2?(?:_\w+)?"
    r"|h(?:ceil|cos|exp|exp2|exp10|floor|log|log2|log10|rcp|rint|rsqrt|sin|sqrt|trunc)|h2\w+"
    r"|tex(?:1D|2D|3D|Cubemap)\w*|surf(?:1D|2D|3D)\w*read|__v(?:abs|add|avg|cmp|hadd|iadd|ib|imax|imin|max|min|neg|sad|set|sub)\w+|__\w+_as_\w+|__nv_cvt_\w+"
    r"|(?:min|max|lowest|epsilon|infinity|quiet_NaN|denorm_min))"
)
PURE = frozenset(_DOUBLE_MATH) | {f"{name}f" for name in _DOUBLE_MATH} | _INTEGER_AND_BITS


def base_name(name: str) -> str:
    """The name without `std::` (`::` is written `$`)."""
    return _QUALIFIED.sub("", name)


def is_pure(name: str) -> bool:
    """Does the value of the library function depend on its arguments alone?"""
    short = base_name(name)
    return short in PURE or _PURE_PATTERNS.fullmatch(short) is not None
