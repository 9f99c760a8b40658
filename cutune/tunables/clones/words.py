"""Words of C++ and CUDA that mean the same in each copy of a function."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: All keywords of C++20 and of the GNU dialect.
KEYWORDS = _words("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq""")
#: Statements, casts and types. What declares an entity of its own, asks for identity, or leaves a
#: function in another way than by `return` is not among them.
BODY = _words("""
    alignof auto bool break case char const constexpr const_cast continue default delete do double
    else false float for if int long new nullptr reinterpret_cast return short signed sizeof
    static_assert static_cast switch true unsigned void volatile wchar_t while""")
#: Before the name of a function that is written again.
HEAD = _words("""
    bool char const double float int long short signed static unsigned void inline __inline__
    __inline __restrict__ __restrict""")
#: Attributes that say where a function runs, and how it is compiled.
ATTRIBUTES = _words("global device host launch_bounds noinline forceinline")
#: Integers, and other types that are passed by value.
INTEGERS = _words("""
    bool char int long short signed unsigned size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t
    uint16_t uint32_t uint64_t uint""")
PLAIN = INTEGERS | _words("""
    float double cudaError_t cudaStream_t cudaEvent_t cudaTextureObject_t cudaSurfaceObject_t dim3
    uint2 uint3 uint4 int2 int3 int4 float2 float3 float4 double2""")
#: What stands before a call of a function, and never before a declaration of its name.
BEFORE_CALL = _words("; { } ( ) , = += -= + - ! ? : || && == != < <= return else do")
