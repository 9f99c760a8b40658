// Launches that a script makes: the arguments of a kernel as bytes, in the order and at the places
// of its parameters. Stands behind the kernels that a script compiles; C++11 and later.
//
// Each kernel gets a function of Python (`cutune_python_function`), which spares what ctypes would
// take. Of Python's interface only the stable part is used, so that no header of it is needed.
#include <string.h>
#include <sys/types.h>

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
int PyErr_ExceptionMatches(struct _object *);
extern struct _object *PyExc_Exception;
struct _object *PyBool_FromLong(long);
long PyLong_AsLong(struct _object *);
unsigned long long PyLong_AsUnsignedLongLong(struct _object *);
double PyFloat_AsDouble(struct _object *);
struct _object *PyNumber_Index(struct _object *);
ssize_t PySequence_Size(struct _object *);
struct _object *PySequence_GetItem(struct _object *, ssize_t);
struct _object *PyObject_Type(struct _object *);
struct _object *PyObject_GetItem(struct _object *, struct _object *);
struct _object *PyObject_GetAttr(struct _object *, struct _object *);
int PyObject_IsTrue(struct _object *);
struct _object *PyObject_Call(struct _object *, struct _object *, struct _object *);
struct _object *PyObject_CallFunctionObjArgs(struct _object *, ...);
int PyCallable_Check(struct _object *);
ssize_t PyDict_Size(struct _object *);
struct _object *PyDict_GetItemString(struct _object *, const char *);
struct _object *PyUnicode_InternFromString(const char *);
void Py_IncRef(struct _object *);
void Py_DecRef(struct _object *);
extern struct _object _Py_NoneStruct, PyTuple_Type, PyList_Type, PyLong_Type;
void *PyEval_SaveThread();
void PyEval_RestoreThread(void *);
}

// A method of Python (PyMethodDef).
struct cutune_python_function {
    const char *name;
    void (*call)();  // by its flags
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

// METH_FASTCALL; METH_VARARGS with METH_KEYWORDS
enum { cutune_fast_call = 0x80, cutune_named_call = 3, cutune_most_extent = 0x7fffffff };

// An object that is let go at the end; nullptr where an error was raised.
struct cutune_held {
    struct _object *const object;
    explicit cutune_held(struct _object *held) : object(held) {}
    ~cutune_held() {
        if (object != nullptr) Py_DecRef(object);
    }
    cutune_held(const cutune_held &) = delete;
};

// What gives the bytes of an argument: one of these, or a function of Python.
enum cutune_reader {
    cutune_reads_array = 1,    // `data.ptr`
    cutune_reads_integer = 2,  // 8 bytes, whatever its sign
    cutune_reads_double = 3,
    cutune_reads_float = 4
};

inline unsigned long long cutune_read_integer(struct _object *value) {
    const cutune_held index(PyNumber_Index(value));
    if (index.object == nullptr) return 0;
    const long long found = PyLong_AsLongLong(index.object);
    if (found != -1 || PyErr_Occurred() == nullptr) return static_cast<unsigned long long>(found);
    PyErr_Clear();
    return PyLong_AsUnsignedLongLong(index.object);
}

// A count that CUDA takes; -1 where it is none, or no integer that is known. `kinds`: a table of what
// reads numpy's, as those of arguments; nullptr where a package takes no others than Python's own.
inline long long cutune_read_count(struct _object *value, struct _object *kinds) {
    const cutune_held type(PyObject_Type(value));
    long long found = -1;
    if (type.object == &PyLong_Type) {
        found = PyLong_AsLongLong(value);
    } else if (kinds != nullptr) {
        const cutune_held reader(PyObject_GetItem(kinds, type.object));
        if (reader.object == nullptr || PyCallable_Check(reader.object) ||
            PyLong_AsLong(reader.object) != cutune_reads_integer)
            return -1;
        found = static_cast<long long>(cutune_read_integer(value));
    }
    return found >= 0 && found <= cutune_most_extent ? found : -1;
}

// Those of a grid or a block, a tuple.
inline bool cutune_read_extents(struct _object *extents, struct _object *kinds, dim3 *to) {
    const ssize_t count = PyTuple_Size(extents);
    if (count < 1 || count > 3) return false;
    long long found[3] = {1, 1, 1};
    for (ssize_t i = 0; i < count; ++i) {
        found[i] = cutune_read_count(PyTuple_GetItem(extents, i), kinds);
        if (found[i] <= 0) return false;
    }
    *to = dim3(static_cast<unsigned>(found[0]), static_cast<unsigned>(found[1]),
               static_cast<unsigned>(found[2]));
    return true;
}

// What PyCUDA gives: the context; grid, block, shared memory, stream and arguments.
inline bool cutune_read_launch(struct _object *context, struct _object *const *given,
                               cutune_script_launch *to) {
    const long long shared = cutune_read_count(given[2], nullptr);
    if (!cutune_read_extents(given[0], nullptr, &to->grid) ||
        !cutune_read_extents(given[1], nullptr, &to->block) || shared < 0)
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
typedef bool (*cutune_launch_function)(const cutune_script_launch &);

inline bool cutune_launch_alone(cutune_launch_function launch, const cutune_script_launch &asked) {
    void *const thread = PyEval_SaveThread();
    const bool is_done = launch(asked);
    PyEval_RestoreThread(thread);
    return is_done;
}

inline struct _object *cutune_call_python(cutune_launch_function launch, struct _object *context,
                                          struct _object *const *given, ssize_t count) {
    cutune_script_launch asked;
    bool is_done = count == 5 && cutune_read_launch(context, given, &asked);
    if (is_done)
        is_done = cutune_launch_alone(launch, asked);
    else
        PyErr_Clear();
    return PyBool_FromLong(is_done);
}

// An address that an attribute of an object is.
inline void *cutune_read_pointer(struct _object *owner) {
    static struct _object *const name = PyUnicode_InternFromString("ptr");
    const cutune_held pointer(PyObject_GetAttr(owner, name));
    return pointer.object != nullptr ? PyLong_AsVoidPtr(pointer.object) : nullptr;
}

inline void *cutune_read_array(struct _object *array) {
    static struct _object *const name = PyUnicode_InternFromString("data");
    const cutune_held data(PyObject_GetAttr(array, name));
    return data.object != nullptr ? cutune_read_pointer(data.object) : nullptr;
}

// An argument by the table of what reads it, by its type: one of those above, or Python's. Its bytes
// are as many as the parameter has, or more. False, or an error, where it is not known.
inline bool cutune_read_value(struct _object *readers, struct _object *value, char *to,
                              size_t size) {
    const cutune_held type(PyObject_Type(value));
    const cutune_held reader(PyObject_GetItem(readers, type.object));
    if (reader.object == nullptr) return false;
    if (PyCallable_Check(reader.object)) {
        const cutune_held read(PyObject_CallFunctionObjArgs(reader.object, value, nullptr));
        char *bytes = nullptr;
        ssize_t count = 0;
        if (read.object == nullptr || PyBytes_AsStringAndSize(read.object, &bytes, &count) != 0 ||
            static_cast<size_t>(count) < size)
            return false;
        memcpy(to, bytes, size);
        return true;
    }
    const long kind = PyLong_AsLong(reader.object);
    char bytes[8];
    if (kind == cutune_reads_array) {
        const void *const address = cutune_read_array(value);
        memcpy(bytes, &address, 8);
    } else if (kind == cutune_reads_integer) {
        const unsigned long long integer = cutune_read_integer(value);
        memcpy(bytes, &integer, 8);
    } else {
        const double real = PyFloat_AsDouble(value);
        const float narrow = static_cast<float>(real);
        // Not each NaN stays what it is.
        if (kind == cutune_reads_float && real != real) return false;
        if (kind == cutune_reads_float)
            memcpy(bytes, &narrow, 4);
        else
            memcpy(bytes, &real, 8);
    }
    if (size > 8 || PyErr_Occurred() != nullptr) return false;
    memcpy(to, bytes, size);
    return true;
}

// The arguments of a kernel one by one. `layout`: an offset and a size each; `readers`: their tables.
inline bool cutune_read_values(struct _object *layout, struct _object *readers,
                               struct _object *values, char *to, ssize_t *size) {
    char *bytes = nullptr;
    ssize_t length = 0;
    // What else may be iterated over may do anything meanwhile.
    const cutune_held type(PyObject_Type(values));
    if ((type.object != &PyTuple_Type && type.object != &PyList_Type) ||
        PyBytes_AsStringAndSize(layout, &bytes, &length) != 0)
        return false;
    const unsigned *const places = reinterpret_cast<const unsigned *>(bytes);
    const ssize_t count = length / static_cast<ssize_t>(2 * sizeof *places);
    if (PySequence_Size(values) != count) return false;
    *size = count != 0 ? places[2 * count - 2] + places[2 * count - 1] : 0;
    if (*size > cutune_most_bytes) return false;
    memset(to, 0, static_cast<size_t>(*size));
    for (ssize_t i = 0; i < count; ++i) {
        const cutune_held value(PySequence_GetItem(values, i));
        if (value.object == nullptr ||
            !cutune_read_value(PyTuple_GetItem(readers, i), value.object, to + places[2 * i],
                               places[2 * i + 1]))
            return false;
    }
    return true;
}

// What CuPy gives: grid, block, arguments, and maybe shared memory, a stream, and whether the launch
// is cooperative.
struct cutune_cupy_call {
    struct _object *given[6];

    // False where the call is none that is known.
    bool read(struct _object *words, struct _object *named) {
        static const char *const names[] = {"grid",       "block",  "args",
                                            "shared_mem", "stream", "enable_cooperative_groups"};
        const ssize_t count = PyTuple_Size(words);
        ssize_t left = named != nullptr ? PyDict_Size(named) : 0;
        for (int i = 0; i < 6; ++i) {
            given[i] = i < count ? PyTuple_GetItem(words, i) : nullptr;
            if (given[i] != nullptr || left == 0) continue;
            given[i] = PyDict_GetItemString(named, names[i]);
            left -= given[i] != nullptr;
        }
        return count <= 6 && left == 0 && given[2] != nullptr && given[1] != nullptr &&
               given[0] != nullptr && (given[5] == nullptr || PyObject_IsTrue(given[5]) == 0);
    }

    // `current` gives the stream of the thread.
    void *stream(struct _object *current) const {
        if (given[4] != nullptr && given[4] != &_Py_NoneStruct)
            return cutune_read_pointer(given[4]);
        const cutune_held found(PyObject_CallFunctionObjArgs(current, nullptr));
        return found.object != nullptr ? cutune_read_pointer(found.object) : nullptr;
    }
};

// `about`: the context, the layout, the tables of readers, the last of them for extents, and what
// gives the current stream.
inline bool cutune_try_cupy(cutune_launch_function launch, struct _object *about,
                            struct _object *words, struct _object *named) {
    cutune_cupy_call call;
    char bytes[cutune_most_bytes];
    cutune_script_launch asked;
    asked.bytes = bytes;
    asked.shared = 0;
    struct _object *const readers = PyTuple_GetItem(about, 2);
    struct _object *const kinds = PyTuple_GetItem(readers, PyTuple_Size(readers) - 1);
    if (!call.read(words, named) || !cutune_read_extents(call.given[0], kinds, &asked.grid) ||
        !cutune_read_extents(call.given[1], kinds, &asked.block))
        return false;
    if (call.given[3] != nullptr) {
        const long long shared = cutune_read_count(call.given[3], kinds);
        if (shared < 0) return false;
        asked.shared = static_cast<unsigned>(shared);
    }
    asked.context = PyLong_AsVoidPtr(PyTuple_GetItem(about, 0));
    asked.stream = static_cast<cudaStream_t>(call.stream(PyTuple_GetItem(about, 3)));
    return PyErr_Occurred() == nullptr &&
           cutune_read_values(PyTuple_GetItem(about, 1), readers, call.given[2], bytes,
                              &asked.size) &&
           cutune_launch_alone(launch, asked);
}

// Instead of the launch of CuPy, which stands behind all else in `about` and makes what this does not.
inline struct _object *cutune_call_cupy(cutune_launch_function launch, struct _object *about,
                                        struct _object *words, struct _object *named) {
    if (cutune_try_cupy(launch, about, words, named)) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    // Who ends the program ends it here, too.
    if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
    PyErr_Clear();
    return PyObject_Call(PyTuple_GetItem(about, 4), words, named);
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
