// Streams and events. Work is done when it is submitted, so waiting never waits, and an event holds
// the modelled device time at which it was recorded.
#include "runtime_streams.h"

#include <iterator>
#include <set>

#include "runtime.h"
#include "runtime_graphs.h"

namespace cutune {

namespace {

struct Stream {
    unsigned flags;
    int priority;
    unsigned long long id;
    int device;
};

struct Event {
    unsigned flags;
    bool recorded;
    int device;
    double at_ms;
    unsigned long long capture;  // the one in which it was recorded last, or 0
};

// The objects of one kind that the program has made and not destroyed; a handle is the address.
template <class Object, class Handle>
class Living {
  public:
    Handle add(Object* fresh) {
        all_.insert(fresh);
        return reinterpret_cast<Handle>(fresh);
    }

    Object* find(Handle handle) const {
        const auto entry = all_.find(reinterpret_cast<Object*>(handle));
        return entry == all_.end() ? nullptr : *entry;
    }

    cudaError_t destroy(Handle handle) {
        Object* const found = find(handle);
        if (!found) return cudaErrorInvalidResourceHandle;
        all_.erase(found);
        delete found;
        return cudaSuccess;
    }

    void clear(int device) {
        for (auto each = all_.begin(); each != all_.end();) {
            Object* const object = *each;
            each = object->device == device ? all_.erase(each) : std::next(each);
            if (object->device == device) delete object;
        }
    }

  private:
    std::set<Object*> all_;
};

Living<Stream, cudaStream_t>& streams() {
    static auto* const all = new Living<Stream, cudaStream_t>;
    return *all;
}

Living<Event, cudaEvent_t>& events() {
    static auto* const all = new Living<Event, cudaEvent_t>;
    return *all;
}

Event* find_event(cudaEvent_t handle) { return events().find(handle); }

Stream* find_stream(cudaStream_t handle) { return streams().find(handle); }

bool default_stream(cudaStream_t handle) {
    return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

// The body of a call that only has to know that the stream exists.
cudaError_t with_stream(cudaStream_t stream) {
    return call(
        [&] { return known_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

constexpr int kHighestPriority = -5;

}  // namespace

bool known_stream(cudaStream_t stream) { return default_stream(stream) || find_stream(stream); }

int device_of(cudaStream_t stream) {
    const Stream* const found = find_stream(stream);
    return found ? found->device : current_device();
}

void forget_streams() {
    streams().clear(current_device());
    events().clear(current_device());
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return call([&] {
        if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        static unsigned long long made = 0;
        const int clamped = priority > 0                  ? 0
                            : priority < kHighestPriority ? kHighestPriority
                                                          : priority;
        *stream = streams().add(new Stream{flags, clamped, ++made, current_device()});
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call([&] { return streams().destroy(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call([&] {
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        return captured_graph(stream) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
    });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
    return with_stream(stream);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return call([&] {
        if (!flags) return cudaErrorInvalidValue;
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        *flags = default_stream(stream) ? 0 : find_stream(stream)->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return call([&] {
        if (!priority) return cudaErrorInvalidValue;
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        *priority = default_stream(stream) ? 0 : find_stream(stream)->priority;
        return cudaSuccess;
    });
}

#if CUDART_VERSION >= 12000
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return call([&] {
        if (!id) return cudaErrorInvalidValue;
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        *id = default_stream(stream) ? 0 : find_stream(stream)->id;
        return cudaSuccess;
    });
}
#endif

#if CUDART_VERSION >= 12080
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* number) {
    return call([&] {
        if (!number) return cudaErrorInvalidValue;
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        *number = device_of(stream);
        return cudaSuccess;
    });
}
#endif

// Attributes of streams (access windows, priorities) change speed alone.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID,
                                   const cudaStreamAttrValue* value) {
    return value ? with_stream(stream) : remember(cudaErrorInvalidValue);
}

cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = kHighestPriority;
    return cudaSuccess;
}

// User code runs outside the lock: it may wait for another thread that calls us.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    const cudaError_t error = with_stream(stream);
    if (error != cudaSuccess) return error;
    const Work work = [=] {
        function(data);
        return cudaSuccess;
    };
    if (!captured_graph(stream)) return work();
    capture(stream, cudaGraphNodeTypeHost, work, true);
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned) {
    const cudaError_t error = with_stream(stream);
    if (error != cudaSuccess) return error;
    if (captured_graph(stream)) return remember(cudaErrorStreamCaptureUnsupported);
    function(stream, cudaSuccess, data);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call([&] {
        if (!event) return cudaErrorInvalidValue;
        *event = events().add(new Event{flags, false, current_device(), 0, 0});
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call([&] { return events().destroy(event); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return call([&] {
        Event* const found = find_event(event);
        if (!found || !known_stream(stream) || found->device != device_of(stream))
            return cudaErrorInvalidResourceHandle;
        found->capture = capture_of(stream);
        if (found->capture) return cudaSuccess;
        found->recorded = true;
        found->at_ms = runtime().clock_ms;
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call([&] { return find_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return call([&] {
        const Event* const found = find_event(event);
        if (!found || !known_stream(stream)) return cudaErrorInvalidResourceHandle;
        join_capture(stream, found->capture);
        return cudaSuccess;
    });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call([&] {
        if (!milliseconds) return cudaErrorInvalidValue;
        const Event* const first = find_event(start);
        const Event* const last = find_event(end);
        if (!first || !last || !first->recorded || !last->recorded ||
            first->device != last->device)
            return cudaErrorInvalidResourceHandle;
        if ((first->flags | last->flags) & cudaEventDisableTiming)
            return cudaErrorInvalidResourceHandle;
        *milliseconds = static_cast<float>(last->at_ms - first->at_ms);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize(void) {
    return call([] { return cudaSuccess; });
}

// Removed in CUDA 12 and 13, still called by older programs and objects.
cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

}  // extern "C"
