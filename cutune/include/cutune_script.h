// Launches that a script makes: the arguments of a kernel as bytes, in the order and at the places
// of its parameters. Stands behind the kernels that a script compiles; C++11 and later.
//
// Each kernel gets a function of Python (`cutune_python_function`), which spares what ctypes would
// take. Of Python's interface only the stable part is used, so that no header of it is needed.
#include <string.h>

#include <type_traits>

struct _object;  // PyObject

extern "C" {
long long PyLong_AsLongLong(struct _object *);
void *PyLong_AsVoidPtr(struct _object *);
ssize_t PyTuple_Size(struct _object *);
struct _object *PyTuple_GetItem(struct _object *, ssize_t);
int PyBytes_AsStringAndSize(struct _object *, char **, ssize_t *);
struct _object *PyErr_Occurred();
void PyErr_Clear();
struct _object *PyBool_FromLong(long);
void *PyEval_SaveThread();
void PyEval_RestoreThread(void *);
}

// A method of Python (PyMethodDef).
struct cutune_python_function {
    const char *name;
    struct _object *(*call)(struct _object *, struct _object *const *, ssize_t);
    int flags;
    const char *text;
};

namespace {

enum { cutune_most_bytes = 32764 };  // of the arguments of a kernel

// As a script asks for it; `shared`: bytes of dynamic shared memory.
struct cutune_script_launch {
    void *context;  // that its kernel was loaded in
    cudaStream_t stream;
    dim3 grid, block;
    unsigned shared;
    const char *bytes;  // of the arguments
    ssize_t size;
};

enum { cutune_fast_call = 0x80, cutune_most_extent = 0x7fffffff };  // METH_FASTCALL

// How many there are of a dimension; 0 where that is no number, or none that CUDA takes.
inline unsigned cutune_read_extent(struct _object *extents, ssize_t dimension) {
    const long long found = PyLong_AsLongLong(PyTuple_GetItem(extents, dimension));
    return found > 0 && found <= cutune_most_extent ? static_cast<unsigned>(found) : 0;
}

// Those of a grid or a block, a tuple.
inline bool cutune_read_extents(struct _object *extents, dim3 *to) {
    const ssize_t count = PyTuple_Size(extents);
    if (count < 1 || count > 3) return false;
    to->x = cutune_read_extent(extents, 0);
    to->y = count > 1 ? cutune_read_extent(extents, 1) : 1;
    to->z = count > 2 ? cutune_read_extent(extents, 2) : 1;
    return to->x != 0 && to->y != 0 && to->z != 0;
}

// What a script gives: the context; grid, block, shared memory, stream and arguments.
inline bool cutune_read_launch(struct _object *context, struct _object *const *given,
                               cutune_script_launch *to) {
    const long long shared = PyLong_AsLongLong(given[2]);
    if (!cutune_read_extents(given[0], &to->grid) || !cutune_read_extents(given[1], &to->block) ||
        shared < 0 || shared > cutune_most_extent)
        return false;
    to->shared = static_cast<unsigned>(shared);
    to->stream = static_cast<cudaStream_t>(PyLong_AsVoidPtr(given[3]));
    to->context = PyLong_AsVoidPtr(context);
    char *bytes = nullptr;
    if (PyBytes_AsStringAndSize(given[4], &bytes, &to->size) != 0) return false;
    to->bytes = bytes;
    return PyErr_Occurred() == nullptr;
}

// Was it launched? Others run meanwhile: where a queue is full CUDA waits, maybe for Python itself.
inline struct _object *cutune_call_python(bool (*launch)(const cutune_script_launch &),
                                          struct _object *context, struct _object *const *given,
                                          ssize_t count) {
    cutune_script_launch asked;
    bool is_done = count == 5 && cutune_read_launch(context, given, &asked);
    if (is_done) {
        void *const thread = PyEval_SaveThread();
        is_done = launch(asked);
        PyEval_RestoreThread(thread);
    } else {
        PyErr_Clear();
    }
    return PyBool_FromLong(is_done);
}

constexpr size_t cutune_align(size_t at, size_t alignment) {
    return (at + alignment - 1) / alignment * alignment;
}

// Behind parameters that begin at `At`.
template <size_t At, class... Parameters>
struct cutune_end : std::integral_constant<size_t, At> {};

template <size_t At, class First, class... Rest>
struct cutune_end<At, First, Rest...>
    : cutune_end<cutune_align(At, alignof(First)) + sizeof(First), Rest...> {};

// Parameter `Place` of those that begin at `At`.
template <size_t At, unsigned Place, class First, class... Rest>
struct cutune_parameter
    : cutune_parameter<cutune_end<At, First>::value, Place - 1, Rest...> {};

template <size_t At, class First, class... Rest>
struct cutune_parameter<At, 0, First, Rest...> {
    typedef First type;
    enum : size_t { at = cutune_align(At, alignof(First)) };
};

template <class... Parameters>
struct cutune_are_plain : std::true_type {};

template <class First, class... Rest>
struct cutune_are_plain<First, Rest...>
    : std::integral_constant<bool, std::is_trivially_copyable<First>::value &&
                                       cutune_are_plain<Rest...>::value> {};

template <unsigned Place, class... Parameters>
inline const typename cutune_parameter<0, Place, Parameters...>::type &cutune_passed(
    void (*)(Parameters...), const char *bytes) {
    typedef cutune_parameter<0, Place, Parameters...> parameter;
    return *reinterpret_cast<const typename parameter::type *>(bytes + parameter::at);
}

int (*cutune_current_context)(void **) = nullptr;

// In another context the driver refuses a kernel, but the runtime has a copy for each.
inline bool cutune_is_current(const void *context) {
    void *current = nullptr;
    return cutune_current_context != nullptr && cutune_current_context(&current) == 0 &&
           current != nullptr && current == context;
}

// Are these the bytes of its arguments? Then they are copied to where each is aligned.
template <class... Parameters>
inline bool cutune_take_arguments(void (*)(Parameters...), const cutune_script_launch &asked,
                                  char *to) {
    const size_t size = static_cast<size_t>(asked.size);
    // With an error pending nobody could tell whose the next one is.
    if (size != cutune_end<0, Parameters...>::value || size > cutune_most_bytes ||
        !cutune_are_plain<Parameters...>::value || !cutune_is_current(asked.context) ||
        cudaPeekAtLastError() != cudaSuccess)
        return false;
    if (size != 0) memcpy(to, asked.bytes, size);
    return true;
}

// Where parameters lie, an offset and a size each: what Python makes of arguments.
template <class... Parameters>
struct cutune_layout;

template <>
struct cutune_layout<> {
    static void write(size_t, unsigned *) {}
};

template <class First, class... Rest>
struct cutune_layout<First, Rest...> {
    static void write(size_t at, unsigned *to) {
        at = cutune_align(at, alignof(First));
        to[0] = static_cast<unsigned>(at);
        to[1] = static_cast<unsigned>(sizeof(First));
        cutune_layout<Rest...>::write(at + sizeof(First), to + 2);
    }
};

// Gives their number.
template <class... Parameters>
inline int cutune_write_layout(void (*)(Parameters...), unsigned *to) {
    cutune_layout<Parameters...>::write(0, to);
    return static_cast<int>(sizeof...(Parameters));
}

}  // namespace

// Is told the driver's cuCtxGetCurrent, which the runtime does not have.
extern "C" void cutune_ask_driver(int (*current_context)(void **)) {
    cutune_current_context = current_context;
}
