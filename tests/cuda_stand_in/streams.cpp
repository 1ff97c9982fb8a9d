// Streams. Every stream has a thread, which does its work in order, and as late as the settings allow.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "check.hpp"
#include "stand_in.hpp"

namespace stand_in {

__thread Running* running = nullptr;

namespace {

void do_work(Stream& stream, const Stream::Work& work) {
  Device& device = *stream.device;
  if (device.fault != 0) return;
  Running now{&stream, work.known, ++device.clock};
  running = &now;
  {
    const Access access(device);
    work.run();
  }
  running = nullptr;
}

void serve(Stream& stream) {
  std::unique_lock lock(stream.mutex);
  for (;;) {
    stream.changed.wait(lock, [&] { return stream.stop || stream.done < stream.goal; });
    if (stream.done >= stream.goal) return;
    const Stream::Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    lock.unlock();
    if (settings().order == Settings::random && random_bits() % 4 == 0)
      usleep(static_cast<useconds_t>(random_bits() % 300));
    do_work(stream, work);
    lock.lock();
    ++stream.done;
    stream.changed.notify_all();
  }
}

bool exists(Stream* stream) {
  for (Device* const device : devices()) {
    const std::lock_guard guard(device->mutex);
    for (const std::shared_ptr<Stream>& known : device->streams)
      if (stream != nullptr && known.get() == stream) return true;
  }
  return false;
}

void wait_for(Stream& stream) {
  std::unique_lock lock(stream.mutex);
  const std::uint64_t goal = stream.enqueued;
  stream.goal = std::max(stream.goal, goal);
  stream.changed.notify_all();
  stream.changed.wait(lock, [&] { return stream.done >= goal; });
  Device& device = *stream.device;
  const std::uint32_t now = ++device.clock;
  std::atomic<std::uint32_t>& known = device.known[stream.number];
  for (std::uint32_t seen = known; seen < now && !known.compare_exchange_weak(seen, now);) {
  }
}

// The error that a call on this device meets first: an earlier fault stays, and a device may be lost at any call.
cudaError_t standing(Device& device) {
  if (device.fault == 0 && fails("lost")) device.fault = cudaErrorUnknown;
  return set_error(static_cast<cudaError_t>(device.fault.load()));
}

}  // namespace

void wait_for_all(Device& device) {
  std::vector<std::shared_ptr<Stream>> streams;  // copies, because another thread may destroy a stream meanwhile
  {
    const std::lock_guard guard(device.mutex);
    streams = device.streams;
  }
  for (const std::shared_ptr<Stream>& stream : streams)
    if (stream != nullptr) wait_for(*stream);
}

cudaError_t enqueue(cudaStream_t stream, const char* what, std::function<void()> run, Kept kept) {
  if (!exists(stream)) {
    report(std::string("streams: ") + what + " on a stream that does not exist; the default stream is not used");
    return set_error(cudaErrorInvalidResourceHandle);
  }
  Device& device = *stream->device;
  if (current_device() != &device) {
    report(std::string("streams: ") + what + " on a stream of another device than the current one");
    return set_error(cudaErrorInvalidResourceHandle);
  }
  if (const cudaError_t status = standing(device); status != cudaSuccess) return status;
  Stream::Work work{std::move(run), {}, std::move(kept)};
  for (int k = 0; k < kStreams; ++k) work.known[k] = device.known[k];
  const std::lock_guard guard(stream->mutex);
  stream->queue.push_back(std::move(work));
  ++stream->enqueued;
  const bool at_once =
      settings().order == Settings::eager || (settings().order == Settings::random && random_bits() % 2 == 0);
  if (at_once) {
    stream->goal = stream->enqueued;
    stream->changed.notify_all();
  }
  return cudaSuccess;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  *out = nullptr;
  Device* const device = current_device();
  if (device == nullptr) return set_error(cudaErrorDevicesUnavailable);
  if (fails("stream")) return set_error(cudaErrorInvalidValue);
  if (const cudaError_t status = standing(*device); status != cudaSuccess) return status;
  if (flags != cudaStreamNonBlocking) report("streams: one that waits for the default stream");
  if (priority < -5 || priority > 0) report("streams: a priority that the device does not have");
  const std::lock_guard guard(device->mutex);
  const auto free = std::find(device->streams.begin(), device->streams.end(), nullptr);
  if (free == device->streams.end()) {
    report("streams: more at a time than the stand-in can tell apart");
    return set_error(cudaErrorInvalidValue);
  }
  auto stream = std::make_shared<Stream>();
  stream->device = device;
  stream->number = static_cast<int>(free - device->streams.begin());
  stream->thread = std::thread([p = stream.get()] { serve(*p); });
  *out = stream.get();
  *free = std::move(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr || !exists(stream)) {
    if (stream != nullptr) report("streams: destroys one that does not exist");
    return set_error(cudaErrorInvalidResourceHandle);
  }
  wait_for(*stream);
  {
    const std::lock_guard guard(stream->mutex);
    stream->stop = true;
    stream->changed.notify_all();
  }
  stream->thread.join();
  Device& device = *stream->device;
  const std::lock_guard guard(device.mutex);
  device.streams[static_cast<std::size_t>(stream->number)] = nullptr;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!exists(stream)) {
    report("streams: waits for one that does not exist");
    return set_error(cudaErrorInvalidResourceHandle);
  }
  wait_for(*stream);
  return standing(*stream->device);
}

// CUDA copies from and to pageable memory through a buffer of its own. Here the host's memory is read or written as
// late as the stream's order allows, as CUDA does with pinned memory. A caller that waits sees no difference.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (fails("copy")) return set_error(cudaErrorInvalidValue);
  const bool reads = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool writes = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if ((device_of(from) != nullptr) != reads || (device_of(to) != nullptr) != writes) {
    report("copies: a direction that does not fit the addresses");
    return set_error(cudaErrorInvalidValue);
  }
  return enqueue(stream, "a copy", [=] {
    if (reads) touch(from, bytes, false, "a copy");
    if (writes) touch(to, bytes, true, "a copy");
    std::memcpy(to, from, bytes);
  });
}

cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream) {
  return enqueue(stream, "cudaMemset", [=] {
    touch(p, bytes, true, "cudaMemset", true);
    std::memset(p, value, bytes);
  });
}

}  // extern "C"
