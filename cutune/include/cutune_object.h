// Kernels that another language launches: their parameters, and where arrays lie. Stands behind
// cutune_script.h; C++11 and later.

namespace {

template <class T, class = void>
struct cutune_bytes : std::integral_constant<size_t, 0> {};  // of what is not complete

template <class T>
struct cutune_bytes<T, decltype(void(sizeof(T)))> : std::integral_constant<size_t, sizeof(T)> {};

template <class T>
constexpr char cutune_kind() {
    return std::is_void<T>::value             ? 'v'
           : std::is_same<T, bool>::value     ? 'b'
           : std::is_floating_point<T>::value ? 'f'
           : std::is_integral<T>::value       ? (std::is_signed<T>::value ? 'i' : 'u')
                                              : 's';
}

// `w4f@8`: written through, to numbers of 4 bytes; at byte 8. `c`: a pointer to constants, `=`: none.
template <class T>
inline int cutune_describe(char *to, size_t room, size_t at) {
    typedef typename std::remove_pointer<T>::type given;
    typedef typename std::remove_cv<given>::type type;
    const char form = !std::is_pointer<T>::value ? '=' : std::is_const<given>::value ? 'c' : 'w';
    return __builtin_snprintf(to, room, "%c%zu%c@%zu ", form,
                              static_cast<size_t>(cutune_bytes<type>::value), cutune_kind<type>(),
                              at);
}

template <size_t At, class... Parameters>
struct cutune_descriptions {
    static void write(char *, size_t) {}
};

template <size_t At, class First, class... Rest>
struct cutune_descriptions<At, First, Rest...> {
    static void write(char *to, size_t room) {
        const int count = cutune_describe<First>(to, room, cutune_align(At, alignof(First)));
        if (count > 0 && static_cast<size_t>(count) < room)
            cutune_descriptions<cutune_end<At, First>::value, Rest...>::write(to + count,
                                                                             room - count);
    }
};

// To be read at once: a text that the next call writes over. Its last word: bytes of all.
template <class... Parameters>
inline const char *cutune_described(void (*)(Parameters...)) {
    static char text[sizeof...(Parameters) * 48 + 48];
    text[0] = 0;
    cutune_descriptions<0, Parameters...>::write(text, sizeof text);
    const size_t size = strlen(text), all = cutune_end<0, Parameters...>::value;
    __builtin_snprintf(text + size, sizeof text - size, "%zu", all);
    return cutune_are_plain<Parameters...>::value ? text : "";
}

}  // namespace

// The context of this thread; the first one of the device where there is none.
extern "C" void *cutune_object_context() {
    void *found = nullptr;
    if (cutune_current_context == nullptr) return nullptr;
    if (cutune_current_context(&found) != 0 || found == nullptr)
        if (cudaFree(nullptr) != cudaSuccess || cutune_current_context(&found) != 0) return nullptr;
    return found;
}

extern "C" int cutune_object_device() {
    int device = -1;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

// The device whose memory this is; -1: the host's, -2: that of any.
extern "C" int cutune_object_place(const void *pointer) {
    cudaPointerAttributes about;
    if (cudaPointerGetAttributes(&about, pointer) != cudaSuccess) {
        cudaGetLastError();
        return -1;
    }
    return about.type == cudaMemoryTypeDevice ? about.device
           : about.type == cudaMemoryTypeManaged ? -2
                                                 : -1;
}

// What is done in `stream` from now on waits for what was asked for in `other`.
extern "C" int cutune_object_wait(void *stream, void *other) {
    cudaEvent_t event;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    error = cudaEventRecord(event, static_cast<cudaStream_t>(other));
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), event, 0);
    cudaEventDestroy(event);
    return error;
}

extern "C" const char *cutune_object_error(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

extern "C" int cutune_object_pending() {
    return cudaPeekAtLastError();
}

extern "C" void *cutune_object_allocate(size_t bytes) {
    void *found = nullptr;
    return cudaMalloc(&found, bytes) == cudaSuccess && cudaMemset(found, 0, bytes) == cudaSuccess
               ? found
               : nullptr;
}

// Everything that the device was asked for is done before.
extern "C" int cutune_object_copy(void *to, const void *from, size_t bytes) {
    const cudaError_t error = cudaDeviceSynchronize();
    return error != cudaSuccess ? error : cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
