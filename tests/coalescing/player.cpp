// SPDX-License-Identifier: Apache-2.0
// A program of the driver API that does what its arguments say, for the tests of --coalescing on
// the simulated device, where kernels do not run and host functions stand in for work that takes
// long. The words are listed in kWords.
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void check(int result, int line) {
  if (result == 0) return;
  std::fprintf(stderr, "line %d: CUDA answered %d\n", line, result);
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

std::vector<char> file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
// Kernels a, b, c, loop and ncclDevKernel_x.
const std::vector<char>& code() {
  static const std::vector<char> content = file_content(GMT_LAUNCHED_CUBIN);
  return content;
}

std::deque<std::string> words;
std::string next() {
  if (words.empty()) std::exit(2);
  std::string word = words.front();
  words.pop_front();
  return word;
}
int next_number() { return std::atoi(next().c_str()); }

CUmodule module = nullptr;
CUstream stream = nullptr;
std::map<std::string, CUstream> streams;
CUgraphExec graph = nullptr;
CUgraph drawn = nullptr; // what `graph` was made from
std::atomic<bool> blocked{false};

int device = 0;
void make_context() {
  CUcontext context = nullptr;
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
  CHECK(cuModuleLoadData(&module, code().data()));
  stream = nullptr;
  streams.clear();
}

void use_primary() {
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, code().data()));
  stream = nullptr;
  streams.clear();
}

CUfunction kernel(const std::string& name) {
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, name.c_str()));
  return function;
}
void launch(CUfunction function, CUstream where) {
  CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, where, nullptr, nullptr));
}

void choose_stream(const std::string& name) {
  if (name == "legacy" || name == "thread") {
    stream = name == "legacy" ? nullptr : CU_STREAM_PER_THREAD;
    return;
  }
  if (streams.find(name) == streams.end())
    CHECK(cuStreamCreate(&streams[name], CU_STREAM_NON_BLOCKING));
  stream = streams[name];
}

void block() {
  blocked = true;
  const auto wait = [](void*) {
    while (blocked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  CHECK(cuLaunchHostFunc(stream, wait, nullptr));
}
void unblock_later(int milliseconds) {
  std::thread([milliseconds] {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    blocked = false;
  }).detach();
}
void unblock() {
  blocked = false;
  CHECK(cuStreamSynchronize(stream));
}

void end_capture() {
  CHECK(cuStreamEndCapture(stream, &drawn)); // fails if anything disturbed the capture
  CHECK(cuGraphInstantiate(&graph, drawn, 0));
}
void update_graph() {
  CUgraphExecUpdateResultInfo info{};
  CHECK(cuStreamEndCapture(stream, &drawn));
  CHECK(cuGraphExecUpdate(graph, drawn, &info));
}

// Another thread begins a capture and ends it later.
void capture_in_thread(int milliseconds) {
  CUcontext context = nullptr;
  CUstream own = nullptr;
  std::atomic<bool> begun{false};
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
  std::thread([=, &begun] {
    CUgraph made = nullptr;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    CHECK(cuStreamEndCapture(own, &made));
  }).detach();
  while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

CUgraphNode first_node() {
  CUgraphNode nodes[64];
  size_t count = 64;
  CHECK(cuGraphGetNodes(drawn, nodes, &count));
  return nodes[0];
}
void set_kernel(const std::string& name) {
  CUDA_KERNEL_NODE_PARAMS p{};
  CHECK(cuGraphKernelNodeGetParams(first_node(), &p));
  p.func = kernel(name);
  CHECK(cuGraphExecKernelNodeSetParams(graph, first_node(), &p));
}
void put_into_another() {
  CUgraph outer = nullptr;
  CUgraphNode node = nullptr;
  CHECK(cuGraphCreate(&outer, 0));
  CHECK(cuGraphAddChildGraphNode(&node, outer, nullptr, 0, drawn));
  CHECK(cuGraphAddChildGraphNode(&node, outer, &node, 1, drawn));
  CHECK(cuGraphInstantiate(&graph, outer, 0));
}

// Threads of one context: each launches on a stream of its own and waits for it now and then.
void launch_in_threads(int count, const std::string& name, int launches) {
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  const CUfunction function = kernel(name);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([=] {
      CUstream own = nullptr;
      CHECK(cuCtxSetCurrent(context));
      CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
      for (int n = 0; n < launches; ++n) {
        launch(function, own);
        if (n % 16 == 15) CHECK(cuStreamSynchronize(own));
      }
      CHECK(cuStreamDestroy(own));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void load_image(const std::string& path) {
  const std::vector<char> bytes = file_content(path);
  CUmodule loaded = nullptr;
  CHECK(cuModuleLoadData(&loaded, bytes.data()));
}

void load_library(const std::string& path) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::exit(2);
}

void allocate_and_free() {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 1));
  CHECK(cuMemFree(memory));
}

void copy_and_wait() {
  CUdeviceptr memory = 0;
  char byte = 0;
  CHECK(cuMemAlloc(&memory, 1));
  CHECK(cuMemcpyDtoH(&byte, memory, 1));
  CHECK(cuMemFree(memory));
}

void run_child() {
  const std::deque<std::string> own = words;
  const pid_t child = fork();
  int status = 0;
  if (child != 0) {
    waitpid(child, &status, 0);
    std::exit(status != 0);
  }
}

// Prints how long the words since the last `time` took.
void print_time() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point last = Clock::now();
  const auto now = Clock::now();
  std::printf("%lld\n",
              static_cast<long long>(
                std::chrono::duration_cast<std::chrono::milliseconds>(now - last).count()));
  last = now;
}

void launch_some() {
  const CUfunction function = kernel(next());
  for (int n = next_number(); n > 0; --n) launch(function, stream);
}
void in_threads() {
  const int count = next_number();
  const std::string name = next();
  launch_in_threads(count, name, next_number());
}
void end_context() {
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuCtxDestroy(context));
}

const std::map<std::string, std::function<void()>> kWords = {
  {"device", [] { device = next_number(); }}, // for contexts made from now on
  {"context", make_context},
  {"destroy", end_context},
  {"primary", use_primary},
  {"release", [] { CHECK(cuDevicePrimaryCtxRelease(0)); }},
  {"reset", [] { CHECK(cuDevicePrimaryCtxReset(0)); }},
  {"unload", [] { CHECK(cuModuleUnload(module)); }},
  {"launch", launch_some}, // KERNEL COUNT
  {"threads", in_threads}, // THREADS KERNEL COUNT
  {"stream", [] { choose_stream(next()); }},
  {"end-stream",
   [] {
     CHECK(cuStreamDestroy(stream));
     streams.clear();
     stream = nullptr;
   }},
  {"sync", [] { CHECK(cuCtxSynchronize()); }},
  {"sync-stream", [] { CHECK(cuStreamSynchronize(stream)); }},
  {"query", [] { CHECK(cuStreamQuery(stream)); }},
  {"copy", copy_and_wait},
  {"free", allocate_and_free},
  {"block", block},
  {"unblock", unblock},
  {"unblock-later", [] { unblock_later(next_number()); }}, // MILLISECONDS
  {"capture", [] { CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)); }},
  {"end-capture", end_capture},
  {"graph", [] { CHECK(cuGraphLaunch(graph, stream)); }},
  {"upload", [] { CHECK(cuGraphUpload(graph, stream)); }},
  {"graph-fails",
   [] {
     if (cuGraphLaunch(graph, reinterpret_cast<CUstream>(0x10)) == CUDA_SUCCESS) std::exit(2);
   }},
  {"end-graph", [] { CHECK(cuGraphExecDestroy(graph)); }},
  {"capture-in-thread", [] { capture_in_thread(next_number()); }}, // MILLISECONDS
  {"update-graph", update_graph},                                  // ends a capture
  {"set-kernel", [] { set_kernel(next()); }},                      // of the graph's first node
  {"disable-node", [] { CHECK(cuGraphNodeSetEnabled(graph, first_node(), 0)); }},
  {"nest-graph", put_into_another}, // twice
  {"image", [] { load_image(next()); }},
  {"library", [] { load_library(next()); }},
  {"push", [] { nvtxRangePushA(next().c_str()); }},
  {"pop", [] { nvtxRangePop(); }},
  {"sleep", [] { usleep(static_cast<useconds_t>(next_number()) * 1000); }},
  {"time", print_time},
  {"kill", [] { raise(SIGKILL); }},
  {"fork", run_child}, // the child goes on, the parent waits for it
};

} // namespace

int main(int argc, char** argv) {
  words.assign(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "fork") {
    words.pop_front();
    run_child();
  }
  CHECK(cuInit(0));
  make_context();
  while (!words.empty()) {
    const auto word = kWords.find(next());
    if (word == kWords.end()) return 2;
    word->second();
  }
}
