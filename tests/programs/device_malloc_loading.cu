// SPDX-License-Identifier: Apache-2.0
// Instrumented code that CUDA loads at a bad moment: at its first launch inside a capture, in each mode of it, or while a kernel that is
// not instrumented spins until the host's next launch has returned. Neither may notice that rings are handed over.
// "late" hides the note by which the tool knows from the first context on that rings will be needed, as with code that comes from a
// file: then the ring itself is made at the bad moment.
//
// Every wait is bounded: if the launch has not returned after 3 s, the spinning kernel is let go and the program has given up. CUDA
// may have made it wait by itself, for a first kernel with malloc sizes the device heap: so the program first runs itself without
// the tool, and ends with 1 only if it gave up where that went through.
//
// device hooks: all calls
// run: capture global
// env: CUDA_MODULE_LOADING=LAZY
// expect: error device-heap-leak bytes=192 count=3 stacks="allocated here"@leak_one:LINE(leak),"graph launched here"@capture:LINE(launch-graph),"captured here"@capture:LINE(captured)
// run: capture thread-local
// env: CUDA_MODULE_LOADING=LAZY
// expect: error device-heap-leak bytes=192 count=3 stacks="allocated here"@leak_one:LINE(leak),"graph launched here"@capture:LINE(launch-graph),"captured here"@capture:LINE(captured)
// run: capture relaxed
// env: CUDA_MODULE_LOADING=LAZY
// expect: error device-heap-leak bytes=192 count=3 stacks="allocated here"@leak_one:LINE(leak),"graph launched here"@capture:LINE(launch-graph),"captured here"@capture:LINE(captured)
// run: capture global late
// env: CUDA_MODULE_LOADING=LAZY
// expect: error device-heap-leak bytes=192 count=3 stacks="allocated here"@leak_one:LINE(leak),"graph launched here"@capture:LINE(launch-graph),"captured here"@capture:LINE(captured)
// run: spin linked
// unlike-late: the kernel that spins is let go, as on a GPU
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.2
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// env: CUDA_MODULE_LOADING=LAZY
// expect-real: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_one:LINE(leak),"launched here"@launch_linked:LINE(linked)
// expect-simulated: clean
// not-checked-simulated: device-heap-leak
// run: spin eager
// unlike-late: the kernel that spins is let go, as on a GPU
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.2
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// env: CUDA_MODULE_LOADING=EAGER
// expect-real: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_one:LINE(leak),"launched here"@launch_linked:LINE(linked)
// expect-simulated: clean
// not-checked-simulated: device-heap-leak
// run: spin module
// unlike-late: the kernel that spins is let go, as on a GPU
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.2
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// expect-real: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_one:LINE(leak),"launched here"@launch_of_module:LINE(module)
// expect-simulated: clean
// not-checked-simulated: device-heap-leak
// run: spin library
// unlike-late: the kernel that spins is let go, as on a GPU
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.2
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// expect-real: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_one:LINE(leak),"launched here"@launch_of_library:LINE(library)
// expect-simulated: clean
// not-checked-simulated: device-heap-leak
// run: spin linked late
// unlike-late: the kernel that spins is let go, as on a GPU
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.2
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// env: CUDA_MODULE_LOADING=LAZY
// expect-real: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_one:LINE(leak),"launched here"@launch_linked:LINE(linked)
// expect-simulated: clean
// not-checked-simulated: device-heap-leak
// run: spin module late
// unlike-late: the kernel that spins is let go, as on a GPU
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.2
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// expect-real: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_one:LINE(leak),"launched here"@launch_of_module:LINE(module)
// expect-simulated: clean
// not-checked-simulated: device-heap-leak
#include "answers.h"
#include "driver_function.h"

#include <atomic>
#include <chrono>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <link.h>
#include <string>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

constexpr int kWentThrough = 0, kGaveUp = 3; // how a spinning run without the tool ends

__device__ void* last;

extern "C" __global__ void leak_one()
{
  last = malloc(64); // @leak
}

// In a module of its own, which is not instrumented: says that it runs in the second word and waits for the first.
static const char* const kSpin = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 words)
{
  .reg .u64 %at;
  .reg .u32 %value;
  .reg .pred %go_on;
  ld.param.u64 %at, [words];
  mov.u32 %value, 1;
  st.volatile.u32 [%at+4], %value;
again:
  ld.volatile.u32 %value, [%at];
  setp.eq.u32 %go_on, %value, 0;
  @%go_on bra again;
  ret;
}
)";

// Writes over the owner's name in this program's note.
static void hide_note()
{
  const auto visit = [](dl_phdr_info* object, std::size_t, void*) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object->dlpi_phdr[i];
      char* const begin = reinterpret_cast<char*>(object->dlpi_addr + part.p_vaddr);
      void* const found = part.p_type == PT_NOTE ? memmem(begin, part.p_memsz, "gpumemtrace", 12) : nullptr;
      if (found == nullptr)
        continue;
      const auto page = reinterpret_cast<std::uintptr_t>(found) & ~std::uintptr_t{4095};
      CHECK(mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE));
      std::memset(found, '-', 11);
    }
    return 1; // the program itself comes first; the tool's library is left alone
  };
  dl_iterate_phdr(visit, nullptr);
}

// The first launch of all is captured: CUDA loads the code there.
__attribute__((noinline)) static void capture(cudaStreamCaptureMode mode)
{
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, mode));
  leak_one<<<1, 1, 0, stream>>>(); // @captured
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i)
    CHECK(cudaGraphLaunch(exec, stream)); // @launch-graph
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

// The code of leak_one in this program's own file, as if it came from another one. What nvcc leaves in .nv_fatbin are fat binaries one
// behind the other, of which some are empty; the header of each has the size of the rest.
static std::vector<char> own_code()
{
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), {}};
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  const char* names = file.data() + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (std::strcmp(names + sections[i].sh_name, ".nv_fatbin") != 0)
      continue;
    const char* at = file.data() + sections[i].sh_offset;
    const char* const end = at + sections[i].sh_size;
    while (at + 16 < end) {
      unsigned magic;
      std::uint64_t rest;
      std::memcpy(&magic, at, sizeof magic);
      std::memcpy(&rest, at + 8, sizeof rest);
      const char* const next = magic == 0xba55ed50 ? at + 16 + rest : at + 8; // else padding
      if (magic == 0xba55ed50 && memmem(at, rest, "leak_one", 8) != nullptr)
        return {at, next};
      at = next;
    }
  }
  std::fprintf(stderr, "no code of leak_one in /proc/self/exe\n");
  std::exit(4);
}

__attribute__((noinline)) static void launch_linked(cudaStream_t stream)
{
  leak_one<<<1, 1, 0, stream>>>(); // @linked
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void launch_of_module(const std::vector<char>& code, cudaStream_t stream)
{
  const auto load = driver_function<CUresult(CUmodule*, const void*)>("cuModuleLoadData", 12000);
  const auto find = driver_function<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction", 12000);
  const auto launch = driver_function<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                               unsigned, CUstream, void**, void**)>("cuLaunchKernel", 12000);
  CUmodule module;
  CUfunction kernel;
  CHECK(load(&module, code.data()));
  CHECK(find(&kernel, module, "leak_one"));
  CHECK(launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr)); // @module
}

__attribute__((noinline)) static void launch_of_library(const std::vector<char>& code, cudaStream_t stream)
{
  cudaLibrary_t library;
  cudaKernel_t kernel;
  CHECK(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetKernel(&kernel, library, "leak_one"));
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1), nullptr, 0, stream)); // @library
}

// kWentThrough or kGaveUp.
static int spin(const std::string& way)
{
  const std::vector<char> code = own_code();
  cudaStream_t spinning, other;
  cudaLibrary_t library;
  cudaKernel_t kernel;
  unsigned* words = nullptr; // go on; running
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&words), 2 * sizeof *words, cudaHostAllocMapped));
  std::memset(words, 0, 2 * sizeof *words);
  CHECK(cudaStreamCreateWithFlags(&spinning, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaLibraryLoadData(&library, kSpin, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetKernel(&kernel, library, "spin"));
  void* parameters[] = {&words};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1), parameters, 0, spinning));
  volatile unsigned* const seen = words;
  for (int i = 0; i < 300 && seen[1] == 0; ++i) // never on the simulated device
    std::this_thread::sleep_for(1ms);

  std::atomic<bool> is_launched{false};
  bool gave_up = false;
  std::thread watch([&] {
    const auto end = std::chrono::steady_clock::now() + 3s;
    while (!is_launched && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(1ms);
    gave_up = !is_launched;
    seen[0] = 1;
  });
  if (way == "module")
    launch_of_module(code, other);
  else if (way == "library")
    launch_of_library(code, other);
  else
    launch_linked(other);
  is_launched = true;
  watch.join();
  CHECK(cudaStreamSynchronize(other));
  CHECK(cudaStreamSynchronize(spinning));
  CHECK(cudaStreamDestroy(spinning));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaFreeHost(words));
  std::printf("%s: %s\n", way.c_str(), gave_up ? "gave up" : "went through");
  return gave_up ? kGaveUp : kWentThrough;
}

// The same run, in a process that the tool is not in.
static int spin_without_tool(const char* way)
{
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0)
      environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  char name[] = "/proc/self/exe", plain[] = "spin-plain";
  char* words[] = {name, plain, const_cast<char*>(way), nullptr};
  pid_t child;
  int status = 0;
  CHECK(posix_spawn(&child, name, nullptr, nullptr, words, environment.data()));
  CHECK(waitpid(child, &status, 0) == child ? 0 : 1);
  if (!WIFEXITED(status) || (WEXITSTATUS(status) != kWentThrough && WEXITSTATUS(status) != kGaveUp)) {
    std::fprintf(stderr, "without the tool it ended with %#x\n", static_cast<unsigned>(status));
    std::exit(4);
  }
  return WEXITSTATUS(status);
}

int main(int count, char** words)
{
  if (count < 3)
    return 2;
  const std::string way = words[2];
  if (started_with(count, words, "spin-plain"))
    return spin(way);
  const int plain = started_with(count, words, "spin") ? spin_without_tool(words[2]) : kGaveUp;
  if (count > 3)
    hide_note();
  if (started_with(count, words, "spin"))
    return spin(way) == kGaveUp && plain == kWentThrough ? 1 : 0;
  capture(way == "global"         ? cudaStreamCaptureModeGlobal
          : way == "thread-local" ? cudaStreamCaptureModeThreadLocal
                                  : cudaStreamCaptureModeRelaxed);
  return 0;
}
