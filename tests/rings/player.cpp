// SPDX-License-Identifier: Apache-2.0
// Programs with instrumented kernels on the simulated device, for test_rings.py: player SCENARIO
// [ARGUMENT]. Built twice, with and without the ELF note by which a context gets its ring when it
// is made.
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/rings/kernel.h"

#ifdef WITH_NOTE
asm(".pushsection .note.gpumemtrace, \"a\", @note\n"
    ".balign 4\n.long 12, 0, 1\n.asciz \"gpumemtrace\"\n"
    ".popsection\n");
#endif

namespace {

using gmt::rings::control_of;
using gmt::rings::Kernel;
using gmt::rings::Module;
namespace trace = gmt::trace;

CUcontext make_context(int device = 0) {
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
  return context;
}

// ARGUMENT records in 4 sub-rings, one of them with three slots; then the end that the scenario's
// name says.
void play(const char* end, std::uint64_t count) {
  const CUcontext context = make_context();
  const Module module;
  CHECK(module.launch());
  Kernel kernel(control_of(module));
  kernel.publish(kernel.reserve(0, 3), trace::Kind::kDeviceSite, 77, 3);
  for (std::uint64_t i = 0; i < count; ++i) {
    kernel.wait_for_room(i % 4);
    kernel.record(i % 4, i + 1);
  }
  const std::string_view how = end;
  if (how == "kill") raise(SIGKILL);
  if (how == "_exit") _exit(3);
  if (how == "exec") execl("/bin/true", "true", nullptr);
  if (how == "wait") {
    kernel.wait_until_drained();
    std::puts("ready");
    std::fflush(stdout);
    pause();
  }
  if (how == "destroy") CHECK(cuCtxDestroy(context));
  if (how == "pause") {
    kernel.wait_until_drained();
    raise(SIGKILL);
  }
}

// Records before and behind one that is never written.
void torn(bool destroy) {
  const CUcontext context = make_context();
  const Module module;
  CHECK(module.launch());
  Kernel kernel(control_of(module));
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Kernel::Reservation reserved = kernel.reserve(5, 1);
    if (i != 4) kernel.publish(reserved, trace::Kind::kDeviceFree, i);
  }
  kernel.wait_until_drained(5, 4);
  if (destroy) CHECK(cuCtxDestroy(context));
  else raise(SIGKILL);
}

// A slot that is not written holds its sub-ring up. One does in each, so what one thread writes
// behind them fills its own sub-ring, then the others, and finds no room in the end.
void full() {
  make_context();
  const Module module;
  CHECK(module.launch());
  Kernel kernel(control_of(module));
  std::vector<Kernel::Reservation> held;
  for (unsigned sub = 0; sub < kernel.sub_rings(); ++sub) held.push_back(kernel.reserve(sub, 1));
  const std::uint64_t room = kernel.sub_rings() * (kernel.capacity() - 1);
  std::uint64_t dropped = 0;
  for (std::uint64_t i = 1; i <= room + 100; ++i) dropped += kernel.record(2, i) ? 0 : 1;
  std::printf("dropped %lu sub-rings %u capacity %lu\n", dropped, kernel.sub_rings(),
              kernel.capacity());
  for (const Kernel::Reservation& reserved : held)
    kernel.publish(reserved, trace::Kind::kDeviceAlloc, 0);
  kernel.wait_until_drained();
  kernel.record(2, 1'000'000);
}

// Many times more than the ring holds, from two threads: with waiting nothing is lost.
void flood(std::uint64_t count) {
  make_context();
  const Module module;
  CHECK(module.launch());
  Kernel kernel(control_of(module));
  std::printf("waits %d\n", kernel.waits() ? 1 : 0);
  const auto run = [&](unsigned sub) {
    for (std::uint64_t i = 0; i < count; ++i) kernel.record(sub, sub * count + i);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

// The child, which has no part in the ring, ends as programs do.
void forked() {
  make_context();
  const Module module;
  CHECK(module.launch());
  Kernel kernel(control_of(module));
  for (std::uint64_t i = 0; i < 100; ++i) {
    kernel.record(0, i);
    const pid_t child = i % 10 == 0 ? fork() : -1;
    if (child == 0) std::exit(0);
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) std::exit(1);
  }
}

// Two contexts on two devices at once; then one after the other in the first one's place.
void contexts() {
  const CUcontext first = make_context(0);
  const Module module_first;
  CHECK(module_first.launch());
  const CUcontext second = make_context(1);
  const Module module_second;
  CHECK(module_second.launch());
  Kernel a(control_of(module_first)), b(control_of(module_second));
  std::printf("different %d\n", control_of(module_first) != control_of(module_second) ? 1 : 0);
  for (std::uint64_t i = 0; i < 100; ++i) {
    a.record(0, 1000 + i);
    b.record(0, 2000 + i);
  }
  CHECK(cuCtxDestroy(second));
  CHECK(cuCtxDestroy(first));
  for (std::uint64_t round = 3; round < 6; ++round) {
    const CUcontext again = make_context(0);
    const Module module;
    CHECK(module.launch());
    Kernel kernel(control_of(module));
    for (std::uint64_t i = 0; i < 100; ++i) kernel.record(0, 1000 * round + i);
    CHECK(cuCtxDestroy(again));
  }
}

// The primary context, reset and used again.
void primary() {
  CHECK(cuInit(0));
  for (std::uint64_t round = 1; round < 4; ++round) {
    CUcontext context = nullptr;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    const Module module;
    CHECK(module.launch());
    Kernel kernel(control_of(module));
    for (std::uint64_t i = 0; i < 100; ++i) kernel.record(0, 1000 * round + i);
    if (round != 1) CHECK(cuDevicePrimaryCtxRelease(0));
    if (round != 2) CHECK(cuDevicePrimaryCtxReset(0));
    else CHECK(cuDevicePrimaryCtxRelease(0)); // retained twice, once before the reset
  }
}

// The first launch of a module is captured; the capture must not notice. A plain module beside it.
void captured(CUstreamCaptureMode mode) {
  make_context();
  const Module plain(true), module;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, mode));
  CHECK(plain.launch(stream));
  CHECK(module.launch(stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  Kernel(control_of(module)).record(0, 1);
  CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_RELAXED;
  CHECK(cuThreadExchangeStreamCaptureMode(&now));
  std::printf("mode %d\n", now);
}

// A kernel that is only ever a node of a graph.
void node() {
  make_context();
  const Module module;
  CUgraph graph = nullptr;
  CUgraphNode made = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = module.kernel;
  params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY =
    params.blockDimZ = 1;
  CHECK(cuGraphAddKernelNode(&made, graph, nullptr, 0, &params));
  Kernel(control_of(module)).record(0, 1);
}

// Modules that come and go, often in each other's place.
void reload() {
  make_context();
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Module module(i % 3 == 0);
    CHECK(module.launch());
    if (i % 3 != 0) Kernel(control_of(module)).record(0, i);
    CHECK(cuModuleUnload(module.handle));
  }
}

// No instrumented module at all.
void nothing() {
  make_context();
  const Module plain(true);
  for (int i = 0; i < 10; ++i) CHECK(plain.launch());
}

// Nothing is recorded, or the ring could not be made.
void refused() {
  make_context();
  const Module module;
  CHECK(module.launch());
  std::printf("control %d\n", control_of(module) != nullptr ? 1 : 0);
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view scenario = argc > 1 ? argv[1] : "";
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (scenario == "torn-destroy") torn(true);
  else if (scenario == "torn-kill") torn(false);
  else if (scenario == "full") full();
  else if (scenario == "flood") flood(count);
  else if (scenario == "fork") forked();
  else if (scenario == "contexts") contexts();
  else if (scenario == "primary") primary();
  else if (scenario == "capture") captured(static_cast<CUstreamCaptureMode>(count));
  else if (scenario == "node") node();
  else if (scenario == "reload") reload();
  else if (scenario == "nothing") nothing();
  else if (scenario == "refused") refused();
  else play(argv[1], count);
  return 0;
}
