// SPDX-License-Identifier: Apache-2.0
// Sources: PyTorch's headers of its allocators and of CUDA's streams. It ran with PyTorch 2.11.
#include "interposer/hooks/tensors.h"

#include <atomic>
#include <cerrno>

#include "interposer/base/own_stack.h"
#include "interposer/calls/call.h"
#include "interposer/calls/call_path.h"
#include "interposer/hooks/torch_library.h"
#include "interposer/kernel_checks/interface.h"
#include "interposer/kernel_checks/kernel_checks.h"

namespace gmt::interposer {
namespace {

using trace::Kind;
using trace::TensorOp;

constexpr std::int8_t kCuda = 1; // c10::DeviceType::CUDA
constexpr std::uint64_t kUnknownStream = ~std::uint64_t{0};

// c10::cuda::CUDAStream as the caller gets it back: a device and PyTorch's number of the stream.
struct TorchStream {
  std::int8_t device_type, device_index;
  std::int64_t id;
};
using CurrentStream = TorchStream(std::int8_t device);
using StreamHandle = void*(const TorchStream*); // CUDAStream::stream() const

constinit std::atomic<CurrentStream*> current_stream{nullptr};
constinit std::atomic<StreamHandle*> stream_handle{nullptr};
constinit std::atomic<bool> looked_for_stream{false};

void look_for_stream() noexcept {
  with_room([](bool) noexcept {
    void* const current = torch_function("libc10", "_ZN3c104cuda20getCurrentCUDAStreamEa");
    void* const handle = torch_function("libc10", "_ZNK3c104cuda10CUDAStream6streamEv");
    stream_handle.store(reinterpret_cast<StreamHandle*>(handle));
    current_stream.store(handle != nullptr ? reinterpret_cast<CurrentStream*>(current) : nullptr);
  });
  looked_for_stream.store(true, std::memory_order_release);
}

// The stream that the thread's next kernel runs on. libc10_cuda has been asked for it by the same
// thread before it asked its allocator, so all that is made at the first question is there.
std::uint64_t stream_of(std::int8_t device) noexcept {
  if (!looked_for_stream.load(std::memory_order_acquire)) [[unlikely]]
    look_for_stream();
  CurrentStream* const current = current_stream.load(std::memory_order_relaxed);
  if (current == nullptr || device < 0) return kUnknownStream;
  const TorchStream stream = current(device);
  return reinterpret_cast<std::uint64_t>(stream_handle.load(std::memory_order_relaxed)(&stream));
}

Record tensor_record(TensorOp op, std::uint64_t address, std::uint64_t bytes,
                     unsigned words) noexcept {
  Record record;
  record.kind = Kind::kTensor;
  record.use(words);
  trace::TensorFields(record).address(address).bytes(bytes).op(op);
  return record;
}

// Without a call stack: who drops the last reference says little, and costs as much as who made it.
void record_taken_back(std::uint64_t address, std::uint64_t bytes) noexcept {
  ThreadLog* const log = current_log();
  if (log == nullptr) return;
  const Record record =
    tensor_record(TensorOp::kTakenBack, address, bytes, trace::kFirstPayloadWords);
  trace::Slot* const slot = log->reserve(1, ThreadLog::worth_of(record));
  if (slot == nullptr) return;
  constexpr std::uint16_t kApi = trace::kOther_reportMemoryUsageToProfiler;
  fill(slot, record, {Process::next_order(), read_tsc(), 0, 0, trace::kNoApi});
  ThreadLog::commit(slot, head_of(record, kApi));
}

// Also while nothing is recorded: what went unheard would be poison for good. A sample of launches
// has no time for it: all that has changed since the last one would be written before each.
void check_in_kernels(std::uint64_t address, std::int64_t bytes) noexcept {
  if (Process::options().kernel_checks_sample != 0) return;
  if (bytes < 0) note_region_given_back(address);
  else note_region_given_out(kPoolOfBlock, address, static_cast<std::uint64_t>(bytes));
}

} // namespace

void record_tensor(const void* address, std::int64_t bytes, TorchDevice device, const void* caller,
                   const void* frame) noexcept {
  if (device.type != kCuda || bytes == 0) return;
  const int error = errno;
  const auto at = reinterpret_cast<std::uint64_t>(address);
  check_in_kernels(at, bytes);
  if (Process::is_on() && bytes < 0) {
    record_taken_back(at, static_cast<std::uint64_t>(-bytes));
  } else if (Process::is_on()) {
    Record record = tensor_record(TensorOp::kGivenOut, at, static_cast<std::uint64_t>(bytes),
                                  trace::kFirstPayloadWords);
    trace::TensorFields(record).stream(stream_of(device.index));
    record_call(record, trace::kOther_reportMemoryUsageToProfiler, caller, frame);
  }
  errno = error;
}

void record_tensor_refusal(const TensorRefusal& refusal, TorchDevice device, const void* caller,
                           const void* frame) noexcept {
  if (device.type != kCuda || !Process::is_on()) return;
  const int error = errno;
  Record record = tensor_record(TensorOp::kRefused, 0, refusal.asked, trace::TensorWord::kCount);
  trace::TensorFields(record)
    .device(static_cast<std::uint64_t>(device.index))
    .allocated(refusal.allocated)
    .reserved(refusal.reserved);
  record_call(record, trace::kOther_reportOutOfMemoryToProfiler, caller, frame);
  errno = error;
}

} // namespace gmt::interposer
