"""Command lines of nvcc as people and build systems write them; `a.cu`, `b.cu`, `c.cpp` are there.

Each is a shell line of arguments. `FAILS` are wrong, so that nvcc's messages can be compared.
"""

from __future__ import annotations

#: Nothing is compiled, or nothing of it launches kernels.
PASSIVE = """\
--version
-V
--help
-h
--list-gpu-arch
--list-gpu-code
-arch-ls
--dryrun -c a.cu
-dryrun a.cu -o prog
-E a.cu
--preprocess a.cu -o a.ii
-E -Xcompiler -dM a.cu
-M a.cu
-MM a.cu -MT target.o
-M a.cu -MF a.dep
-MM -MP -MF a.dep a.cu
-ptx a.cu
-ptx a.cu -o x.ptx -arch=sm_80
-cubin -arch sm_90 a.cu
-fatbin -gencode arch=compute_80,code=sm_80 a.cu
--ptx --gpu-architecture=compute_80 a.cu --output-file=y.ptx
-c c.cpp
-c c.cpp -o c.o -O2
c.cpp -o prog
-x c++ -c c.cpp
-x c++ -c a.cu.txt
--clean-targets -c a.cu
-link c.o -o prog
-dlink d.o -o l.o
-lib c.o -o libc.a
--optix-ir a.cu -o a.optixir
-ltoir -dlto a.cu -arch=sm_90 -o a.ltoir
-fdevice-syntax-only a.cu -c
"""

#: Sources with launches are compiled.
COMPILING = """\
-c a.cu
a.cu
a.cu -o prog
-o prog a.cu
-o=prog a.cu
--output-file prog a.cu
--output-file=prog a.cu
-c a.cu -o obj/a.o
-c a.cu -odir obj
-c --output-directory=obj a.cu
-c -x cu a.cu
-c -x=cu c.cpp -o c.o
-x cu -c c.cpp
-dc a.cu
-dc a.cu -o d.o
-dw a.cu
--device-c a.cu -o d.o
-rdc=true -c a.cu
-rdc true -c a.cu
--relocatable-device-code=true -c a.cu
-rdc=true a.cu b.cu -o prog
a.cu b.cu -o prog
-c a.cu b.cu
-c a.cu c.cpp
a.cu c.cpp -o prog
a.cu c.o -o prog
sub/a.cu -o prog
-c sub/a.cu
-c ./a.cu
-c sub/../a.cu
-cuda a.cu
--cuda a.cu -o a.ii
-c -g a.cu
-c -G a.cu
-c -g -G a.cu
-c -lineinfo a.cu
-c --generate-line-info a.cu
-c -pg a.cu
-c -O0 a.cu
-c -O3 a.cu
-c -O 2 a.cu
-c --optimize=1 a.cu
-c -DN=10 a.cu
-c -D N=10 a.cu
-c -D=N=10 a.cu
-c -DN=10,M=3 a.cu
-c --define-macro N=1 a.cu
-c --define-macro=N=1,M=2 a.cu
-c -DTEXT='"a b"' a.cu
-c -DTEXT='"1,2"' a.cu
-c -UN a.cu
-c -U N a.cu
-c --undefine-macro=N a.cu
-c -Iinc a.cu
-c -I inc a.cu
-c -I=inc a.cu
-c -Iinc,sub a.cu
-c -I inc,sub a.cu
-c --include-path inc a.cu
-c --include-path=inc,sub a.cu
-c -isystem inc a.cu
-c -isystem=inc a.cu
-c --system-include inc a.cu
-c -include inc/forced.h a.cu
-c -include=inc/forced.h a.cu
-c --pre-include inc/forced.h a.cu
a.cu -Llib -lm -o prog
a.cu -L lib -l m -o prog
a.cu -L=lib -l=m -o prog
a.cu --library-path lib --library m -o prog
a.cu -lm,dl -o prog
-c -std=c++11 a.cu
-c -std c++14 a.cu
-c --std=c++17 a.cu
-c --std c++20 a.cu
-c -arch=sm_80 a.cu
-c -arch sm_90 a.cu
-c -arch=compute_80 -code=sm_80,compute_80 a.cu
-c -arch compute_80 -code sm_80 a.cu
-c --gpu-architecture=sm_90 a.cu
-c --gpu-architecture sm_90 --gpu-code sm_90 a.cu
-c -arch=all-major a.cu
-c -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 a.cu
-c -gencode=arch=compute_80,code=sm_80 a.cu
-c -gencode arch=compute_80,code=[sm_80,compute_80] a.cu
-c --generate-code=arch=compute_90,code=[compute_90,sm_90] a.cu
-c --generate-code arch=compute_90,code=sm_90 a.cu
-c -maxrregcount 32 a.cu
-c -maxrregcount=64 a.cu
-c --maxrregcount=64 a.cu
-c -use_fast_math a.cu
-c --use_fast_math a.cu
-c -ftz=true -prec-div=false -prec-sqrt=false -fmad=false a.cu
-c --ftz true --fmad false a.cu
-c -default-stream per-thread a.cu
-c --default-stream=legacy a.cu
-c -Xcompiler -Wall a.cu
-c -Xcompiler -Wall,-Wextra a.cu
-c -Xcompiler=-Wall,-fPIC a.cu
-c --compiler-options -fPIC a.cu
-c --compiler-options='-O2 -Wall' a.cu
-c -Xcompiler '-DX=1\\,2' a.cu
-c -Xcompiler -c a.cu
-c -Xcompiler b.cu a.cu
a.cu -Xlinker -rpath,/x -o prog
a.cu --linker-options=-z,now -o prog
a.cu -Xnvlink --verbose -o prog
-c -Xptxas -v a.cu
-c -Xptxas=-v,-O2 a.cu
-c --ptxas-options=-v a.cu
-c -Xcudafe --display_error_number a.cu
-c -Xcudafe=--diag_suppress=177 a.cu
-c -Xfatbin -compress-all a.cu
-c -ccbin g++ a.cu
-c -ccbin=g++ a.cu
-c --compiler-bindir g++ a.cu
-c -allow-unsupported-compiler a.cu
a.cu -cudart static -o prog
a.cu -cudart=shared -o prog
a.cu --cudart none -c
-c --cudadevrt=none a.cu
-c -MD a.cu
-c -MMD a.cu
-c -MD -MF a.dep a.cu
-c -MD -MF=a.dep -MT t.o a.cu
-c -MMD -MP -MF a.dep a.cu -o a.o
-c --generate-dependencies-with-compile --dependency-output a.dep a.cu
-c -MD -MP a.cu -o obj/a.o
-c -w a.cu
-c --disable-warnings a.cu
-c -Werror all-warnings a.cu
-c -Werror=cross-execution-space-call,reorder a.cu
-c -Wno-deprecated-gpu-targets a.cu
-c -Wreorder -Wdefault-stream-launch a.cu
-c -diag-suppress 177,550 a.cu
-c --diag-warn=177 -err-no a.cu
-c -res-usage a.cu
-c --resource-usage a.cu
-c -v a.cu
-c --verbose a.cu
-c --keep --keep-dir keep a.cu
-c -keep a.cu
-c -save-temps a.cu
-c -time times.csv a.cu
-c -t 2 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 a.cu
-c -t2 a.cu
-c --threads=0 a.cu
-c -split-compile 2 a.cu
-c -dlto -arch=sm_90 a.cu
-c -dlto -gencode arch=compute_90,code=lto_90 a.cu
-dc -dlto -arch=sm_90 a.cu -o d.o
-c --expt-relaxed-constexpr --expt-extended-lambda a.cu
-c -extended-lambda a.cu
-c -restrict a.cu
-c -extra-device-vectorization a.cu
-c -src-in-ptx -lineinfo a.cu
-c -ewp a.cu
-c -no-compress a.cu
-c --compress-mode=size a.cu
-c -noprof a.cu
-c -m64 a.cu
-c -m 64 a.cu
-c -machine 64 a.cu
-c -forward-unknown-to-host-compiler -fopenmp a.cu
-c -forward-unknown-opts -Wall a.cu
a.cu -forward-unknown-to-host-linker -fuse-ld=bfd -o prog
-c -frandom-seed=7 a.cu
-c -qpp-config 1 a.cu
-shared -Xcompiler -fPIC a.cu -o liba.so
--shared --compiler-options -fPIC -o liba.so a.cu
-r a.cu -o r.o
-c -objtemp a.cu
-c -jobserver a.cu
-c -brief-diag=true a.cu
-c -static-global-template-stub=false a.cu
-c -device-entity-has-hidden-visibility false a.cu
-optf options.txt a.cu
-optf=options.txt -c a.cu
--options-file options.txt -c a.cu
--options-file=options.txt,more.txt -c a.cu
-c a.cu --options-file whole.txt
-run a.cu -run-args 1,2
"""

#: Wrong: nvcc says why.
FAILS = """\

-c
-c missing.cu
-c a.cu -o
-c a.cu --no-such-option
-c a.cu -Wall
-c a.cu b.cu -o both.o
-c bad.cu
-c bad.cu -o bad.o -MD
a.cu -lno_such_library -o prog
-c @options.txt a.cu
-c a.foo
-c A.CU
-c a.cu -std=c++99
-c a.cu -arch=sm_1
-c a.cu -lineinfo=true
-ob.o -c a.cu
-c a.cu -include missing.h
-c a.cu -optf missing.txt
-
"""


def lines(text: str) -> list[str]:
    """The command lines of one of these lists."""
    return text.splitlines()
