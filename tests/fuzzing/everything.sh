#!/bin/sh
# All readers for 30 CPU minutes each, native code under sanitizers, and 200 kills, on 24 cores:
#     sh tests/fuzzing/everything.sh FOLDER 1; sh tests/fuzzing/everything.sh FOLDER 2
# A call takes less than 9 minutes; FOLDER gets found-1.tgz, found-2.tgz.
folder=$(realpath "$1")
found=$folder/found-$2
mkdir -p "$found"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"

fuzz() {
    timeout 515 python3 -m tests.fuzzing "$1" --minutes 7.7 --processes 4 --seed "$2" \
        "$found/$1" > "$found/$1.txt" 2>&1 &
}

build() {
    python3 -c 'from cutune.emulator.build import machine_library; machine_library()' \
        > "$found/build.txt" 2>&1
}

if [ "$2" = 1 ]; then
    fuzz cuda 100; fuzz ptx 200; fuzz annotations 300; fuzz json 400
    (build; timeout 500 python3 -m tests.support.killed_commands "${TMPDIR:-/tmp}/kills" --kills 30 --processes 6 \
        --seconds 400; mkdir -p "$found/kills"
    cd "${TMPDIR:-/tmp}/kills" && tar cf - */report.json $(ls -d */*/finding-* 2>/dev/null) | tar xf - -C "$found/kills"
    ) > "$found/kills.txt" 2>&1 &
else
    fuzz csv 500; fuzz ncu 600; fuzz t1 700; fuzz launch-log 800
    timeout 515 python3 -m tests.fuzzing.native --minutes 7.5 --processes 5 --seed 1 \
        "$found/native" > "$found/native.txt" 2>&1 &
    (build; timeout 480 python3 -m tests.support.killed_searches "${TMPDIR:-/tmp}/faults" --kills 50) \
        > "$found/faults.txt" 2>&1 &
fi
wait
cat "$found"/*.txt > "$found/summary"
tar czf "$found.tgz" -C "$folder" "found-$2"
cat "$found/summary"
