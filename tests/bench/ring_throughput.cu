// SPDX-License-Identifier: Apache-2.0
// How many records a second kernels can leave in a ring of host memory: kernels that only log, on 1
// to all multiprocessors, with sub-rings and with a single counter for all. The ring is drained
// meanwhile, by the reader that the interposer uses, and kernels wait when it is full, so that the
// figure is what can be kept up with no loss. The second table leaves the drain out and compares
// slots of 64 and of 32 bytes. Beside each stand the bytes a second of the interposer's own form,
// and what share that is of what the bus carried in this run: the better of a kernel that does
// nothing but write to the host's memory and of a copy there. Usage: ring_throughput [RECORDS A
// THREAD]. Exit status 1 if a record did not arrive.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "check.h"
#include "gpumemtrace/detail/ring_writer.h"
#include "trace/ring_reader.h"

namespace {

using gmt::device::kNoTicket;
using gmt::device::RingWriter;
namespace trace = gmt::trace;

constexpr unsigned kThreads = 256;

__device__ unsigned multiprocessor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

__global__ void only_log(trace::DeviceControl* control, unsigned records) {
  RingWriter ring(*control, multiprocessor());
  for (unsigned i = 0; i < records; ++i) {
    const std::uint64_t ticket = ring.reserve(1);
    if (ticket == kNoTicket) continue;
    ring.publish(ticket, {trace::Kind::kDeviceAlloc, 1, trace::kNoApi, 1, 0}, i, threadIdx.x,
                 [=](unsigned word) -> std::uint64_t { return i + word; });
  }
}

// The same with slots of half the size: head, time and two words.
__global__ void only_log_32_bytes(trace::DeviceControl* control, unsigned records,
                                  std::uint64_t* slots) {
  const unsigned sub_ring = multiprocessor() & (control->sub_rings - 1);
  RingWriter ring(*control, sub_ring);
  const std::uint64_t mask = control->slots_per_sub_ring - 1;
  for (unsigned i = 0; i < records; ++i) {
    const std::uint64_t ticket = ring.reserve(1);
    if (ticket == kNoTicket) continue;
    std::uint64_t* const slot =
      slots + (std::uint64_t{sub_ring} * (mask + 1) + (ticket & mask)) * 4;
    const std::uint64_t words[4] = {1, i + 1, i + 1, threadIdx.x + 1};
    for (unsigned k = 0; k < 4; k += 2) {
      asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(slot + k), "l"(words[k]),
                   "l"(words[k + 1])
                   : "memory");
    }
  }
}

// A ring in pinned host memory and its control in device memory.
struct Ring {
  Ring(unsigned sub_rings, unsigned slots, bool wait) : sub_rings(sub_rings) {
    const std::size_t bytes = trace::ring_bytes(sub_rings, slots);
    CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
    std::memset(memory, 0, bytes);
    trace::RingHeader& header = trace::ring_header(memory);
    std::memcpy(header.magic, trace::kRingMagic, sizeof header.magic);
    header.version = trace::kRingVersion;
    header.sub_rings = sub_rings;
    header.slots_per_sub_ring = slots;
    trace::DeviceControl made{};
    made.version = trace::kRingVersion;
    made.wait_when_full = wait;
    made.sub_rings = sub_rings;
    made.slots_per_sub_ring = slots;
    made.ring = reinterpret_cast<std::uint64_t>(memory);
    CHECK(cudaMalloc(&control, sizeof made));
    CHECK(cudaMemcpy(control, &made, sizeof made, cudaMemcpyHostToDevice));
  }
  ~Ring() {
    CHECK(cudaFree(control));
    CHECK(cudaFreeHost(memory));
  }
  unsigned sub_rings;
  void* memory = nullptr;
  trace::DeviceControl* control = nullptr;
};

// Copies records out of the ring until it has to stop, as the interposer's thread does.
std::uint64_t drain(Ring& ring, const std::atomic<bool>& stop) {
  std::vector<trace::Slot> log(1 << 16);
  std::uint64_t taken = 0;
  for (bool last = false; !last;) {
    last = stop;
    std::uint64_t found = 0;
    do {
      found = 0;
      for (unsigned i = 0; i < ring.sub_rings; ++i) {
        found += trace::SubRingReader(ring.memory, i)
                   .drain(4096,
                          [&](const trace::RingRecord& record) {
                            record.copy_to(&log[taken++ % log.size()]);
                          })
                   .slots;
      }
    } while (found != 0);
  }
  return taken;
}

template <typename Launch>
double seconds(Launch launch) {
  const auto begin = std::chrono::steady_clock::now();
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double drained_rate(unsigned blocks, unsigned sub_rings, unsigned records) {
  Ring ring(sub_rings, (1 << 18) / sub_rings, true);
  std::atomic<bool> stop{false};
  std::uint64_t taken = 0;
  std::thread drainer([&] { taken = drain(ring, stop); });
  const double spent = seconds([&] { only_log<<<blocks, kThreads>>>(ring.control, records); });
  stop = true;
  drainer.join();
  const std::uint64_t all = std::uint64_t{blocks} * kThreads * records;
  if (taken != all) {
    std::fprintf(stderr, "ring_throughput: only %llu of %llu records arrived\n",
                 static_cast<unsigned long long>(taken), static_cast<unsigned long long>(all));
    std::exit(1);
  }
  return static_cast<double>(all) / spent / 1e6;
}

// Everything fits into the ring, and nothing is read.
double undrained_rate(unsigned blocks, unsigned records, bool half_slots) {
  const unsigned sub_rings = 128;
  unsigned slots = 1;
  while (slots < 2 * blocks * kThreads * records / sub_rings || slots < 4 * kThreads * records)
    slots *= 2;
  Ring ring(sub_rings, slots, false);
  auto* const begin = reinterpret_cast<std::uint64_t*>(static_cast<char*>(ring.memory) +
                                                       trace::ring_slots_offset(sub_rings));
  const double spent = seconds([&] {
    if (half_slots) {
      only_log_32_bytes<<<blocks, kThreads>>>(ring.control, records, begin);
    } else {
      only_log<<<blocks, kThreads>>>(ring.control, records);
    }
  });
  for (unsigned i = 0; i < sub_rings; ++i) {
    if (trace::SubRingReader(ring.memory, i).lost() == 0) continue;
    std::fprintf(stderr, "ring_throughput: records were lost\n");
    std::exit(1);
  }
  return static_cast<double>(blocks) * kThreads * records / spent / 1e6;
}

__global__ void only_write(uint4* to, std::size_t count) {
  const uint4 value{threadIdx.x, 1, 2, 3};
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x)
    to[i] = value;
}

struct Bus {
  double written, copied; // GB/s to pinned memory of the host: by a kernel, by a copy
  double limit() const { return std::max(written, copied); }
};

Bus measure_bus(unsigned multiprocessors) {
  constexpr std::size_t kBytes = 256 << 20;
  constexpr double kGigabytes = kBytes / 1e9;
  void *host = nullptr, *device = nullptr;
  CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocMapped));
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMemset(device, 0, kBytes));
  Bus bus{};
  for (int round = 0; round < 4; ++round) { // the first one warms up
    const double writing = seconds([&] {
      only_write<<<4 * multiprocessors, kThreads>>>(static_cast<uint4*>(host),
                                                    kBytes / sizeof(uint4));
    });
    const double copying =
      seconds([&] { CHECK(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost)); });
    bus.written = std::max(bus.written, kGigabytes / writing);
    bus.copied = std::max(bus.copied, kGigabytes / copying);
  }
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  return bus;
}

// Of so many million records a second.
void print_share(double rate, const Bus& bus) {
  const double gigabytes = rate * trace::kSlotBytes / 1e3;
  std::printf(" %9.2f %9.0f %%\n", gigabytes, 100 * gigabytes / bus.limit());
  std::fflush(stdout);
}

} // namespace

int main(int count, char** words) {
  const unsigned records = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 64;
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0));
  const auto all = static_cast<unsigned>(device.multiProcessorCount);
  drained_rate(1, 128, 1); // loads the code
  const Bus bus = measure_bus(all);
  std::printf(
    "the bus to pinned memory of the host: %.2f GB/s written by a kernel, %.2f GB/s copied\n",
    bus.written, bus.copied);
  std::printf(
    "million records a second, %u threads a multiprocessor, drained, none lost; with %u counters: GB/s, of the bus\n",
    kThreads, trace::kSubRings);
  std::printf("%15s %12s %12s %9u counters %9s %11s\n", "multiprocessors", "1 counter",
              "128 counters", trace::kSubRings, "GB/s", "of the bus");
  for (unsigned blocks = 1; blocks <= all;
       blocks = blocks < all && blocks * 2 > all ? all : blocks * 2) {
    const double ours = drained_rate(blocks, trace::kSubRings, records);
    std::printf("%15u %12.2f %12.2f %18.2f", blocks, drained_rate(blocks, 1, records),
                drained_rate(blocks, 128, records), ours);
    print_share(ours, bus);
  }
  std::printf(
    "the same, not drained, by the slot's size; of 64 bytes: GB/s, of the bus\n%15s %12s %12s %9s %11s\n",
    "multiprocessors", "32 bytes", "64 bytes", "GB/s", "of the bus");
  for (unsigned blocks = 1; blocks <= all;
       blocks = blocks < all && blocks * 2 > all ? all : blocks * 2) {
    const double ours = undrained_rate(blocks, records / 4, false);
    std::printf("%15u %12.2f %12.2f", blocks, undrained_rate(blocks, records / 4, true), ours);
    print_share(ours, bus);
  }
  return 0;
}
