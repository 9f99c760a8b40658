// Objects that each thread has for itself. They are there whenever they are asked for: destructors
// of a program's global objects call us when those of its main thread are gone.
#pragma once

namespace cutune {

template <class T>
T& own_of_thread() {
    thread_local T* current = nullptr;
    struct Owner {
        ~Owner() {
            delete current;
            current = nullptr;
        }
    };
    thread_local Owner owner;
    (void)&owner;
    if (!current) current = new T;
    return *current;
}

}  // namespace cutune
