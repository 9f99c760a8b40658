// Atomic variables, and functions of the C library by names of cutune's own. A header that the
// program does not include itself could change it: where <stdio.h> declares `remove`, a template
// `remove` of the program is not called any more, and `using namespace std` makes <atomic> ambiguous.
#ifndef CUTUNE_HOST_H
#define CUTUNE_HOST_H

extern "C" {
extern struct _IO_FILE *cutune_stderr asm("stderr");
// Not dprintf: programs have functions of their own that are called so.
int cutune_say(void *, const char *, ...) asm("fprintf");
void *cutune_open(const char *, const char *) asm("fopen");
char *cutune_gets(char *, int, void *) asm("fgets");
int cutune_close(void *) asm("fclose");
int cutune_scan(const char *, const char *, ...) asm("sscanf");
}

// `get` sees what was written before the `set` that it reads.
template <class T>
struct cutune_atomic {
    T held;
    T get() const { return __atomic_load_n(&held, __ATOMIC_ACQUIRE); }
    void set(T other) { __atomic_store_n(&held, other, __ATOMIC_RELEASE); }
    T exchange(T other) { return __atomic_exchange_n(&held, other, __ATOMIC_ACQUIRE); }
    T add(T more) { return __atomic_fetch_add(&held, more, __ATOMIC_RELAXED); }
};

#endif  // CUTUNE_HOST_H
