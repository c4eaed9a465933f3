// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/patches/patches.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <sched.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/compiled_patches.h"
#include "interposer/kernel_checks/library/patches/control_memory.h"
#include "interposer/kernel_checks/library/patches/patch_reports.h"
#include "interposer/kernel_checks/library/patches/patched_functions.h"
#include "interposer/kernel_checks/library/patches/patched_modules.h"
#include "interposer/kernel_checks/library/patches/sanitizer.h"
#include "interposer/kernel_checks/library/regions.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr char kPatch[] = "gmt_check_access"; // check_access.cu
static_assert(kDataNumbers == kMostLaunches && kDataBytes <= Table::kBytesBehind);
static_assert(is_patch_data(kWantedTable));

// The Sanitizer API allows one thread at a time to patch.
constinit pthread_mutex_t patching = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local bool patches_now = false; // it loads code of its own meanwhile
class Patching {
public:
  Patching() noexcept {
    patches_now = true;
    pthread_mutex_lock(&patching);
  }
  ~Patching() {
    pthread_mutex_unlock(&patching);
    patches_now = false;
  }
  Patching(const Patching&) = delete;
  Patching& operator=(const Patching&) = delete;
};

constinit Sanitizer api{};
constinit SanitizerHandle patch_subscriber = nullptr;
constinit std::atomic<CUdeviceptr> control{0};
constinit PatchedModules modules;
constinit std::atomic<std::uint64_t> patched_launches{0}; // that are not reported yet
constinit Lasting<std::vector<CUcontext>> contexts;       // that have the patches; with `patching`

// What the launch that this thread makes gives its patches.
struct Pending {
  std::uint64_t data = 0;    // 0: nothing is to be checked
  CUmodule module = nullptr; // that has the patches; null: none was met
};
constinit thread_local Pending pending_launch;

void note(const char* what, int result) noexcept {
  const std::string words =
    std::string("machine code is not checked: ") + what + " (" + std::to_string(result) + ")";
  note_unchecked("", words.c_str(), 0);
}

bool holds(const SanitizerModule& module, std::string_view name) noexcept {
  return module.code != nullptr &&
         memmem(module.code, module.code_bytes, name.data(), name.size()) != nullptr;
}

// Has checked forms, or is the tool's own.
bool is_left_out(const SanitizerModule& module) noexcept {
  return holds(module, rewriter::kCounts) || holds(module, kMarkKernel);
}

bool has_patches(CUcontext context) noexcept {
  std::vector<CUcontext>& all = *contexts;
  if (std::ranges::find(all, context) != all.end()) return true;
  const int result = api.add_patches(compiled_patches().data(), context);
  if (result != 0) note("the Sanitizer API did not take the patches", result);
  if (result == 0) all.push_back(context);
  return result == 0;
}

void module_was_loaded(const SanitizerModule& module) noexcept {
  if (patches_now || is_left_out(module)) return;
  const Patching scope;
  if (!has_patches(module.context)) return;
  int result = api.patch_instructions(kGlobalAccess, module.module, kPatch);
  if (result == 0) result = api.patch_module(module.module);
  if (result != 0) note("the Sanitizer API did not patch a module", result);
  else modules.add(module.module);
}

void module_ends(const SanitizerModule& module) noexcept {
  modules.remove(module.module);
  forget_functions(module.module);
}

void context_ends(const SanitizerContext& context) noexcept {
  if (patches_now) return;
  const Patching scope;
  std::erase(*contexts, context.context);
}

// What a launch gives its patches; false: it is not known what they get.
bool set_data(const SanitizerLaunch& launch, std::uint64_t data) noexcept {
  return api.set_launch_data(launch.launch, launch.function, launch.stream_handle,
                             reinterpret_cast<const void*>(data)) == 0; // NOLINT: on the device
}

void launch_begins(const SanitizerLaunch& launch) noexcept {
  if (!modules.has(launch.module) || !set_data(launch, pending_launch.data)) return;
  if (pending_launch.data != 0) pending_launch.module = launch.module;
}

std::uint64_t data_of(CUdeviceptr at, std::uint64_t number) noexcept {
  return at + number % kDataNumbers * kDataStep;
}

// Of one launch of a graph, which all of its kernels share: what is given for one of them reaches
// the patches of another. The call in progress is that launch.
struct GraphLaunch {
  CUgraphExec graph = nullptr;
  std::uint32_t id = 0;
  std::uint64_t data = 0;
};
constinit thread_local GraphLaunch graph_launch;

std::uint64_t data_of_graph(CUdeviceptr at, const SanitizerNode& node) noexcept {
  const bool is_known =
    graph_launch.data != 0 && graph_launch.graph == node.graph && graph_launch.id == node.launch_id;
  if (is_known) return graph_launch.data;
  Launch launch;
  launch.call = core->call_in_progress();
  launch.stream = reinterpret_cast<std::uint64_t>(node.launch.stream);
  graph_launch = {node.graph, node.launch_id, data_of(at, remember_launch(launch))};
  return graph_launch.data;
}

void node_begins(const SanitizerNode& node) noexcept {
  const SanitizerLaunch& it = node.launch;
  if (node.type != CU_GRAPH_NODE_TYPE_KERNEL || !modules.has(it.module)) return;
  const CUdeviceptr at = control.load(std::memory_order_acquire);
  if (at == 0 || it.context != first_table().context() || it.name == nullptr) {
    set_data(it, 0);
    return;
  }
  keep_function(it.name, it.module, nullptr);
  if (set_data(it, data_of_graph(at, node))) patched_launches.fetch_add(1);
}

void on_event(void*, std::uint32_t domain, std::uint32_t event, const void* data) noexcept {
  if (domain == static_cast<std::uint32_t>(SanitizerDomain::kLaunch) && event == kLaunchBegin)
    return launch_begins(*static_cast<const SanitizerLaunch*>(data));
  if (domain == static_cast<std::uint32_t>(SanitizerDomain::kGraphs) && event == kNodeLaunchBegin)
    return node_begins(*static_cast<const SanitizerNode*>(data));
  if (domain != static_cast<std::uint32_t>(SanitizerDomain::kResource)) return;
  switch (static_cast<ResourceEvent>(event)) {
  case ResourceEvent::kModuleLoaded:
    return module_was_loaded(*static_cast<const SanitizerModule*>(data));
  case ResourceEvent::kModuleUnloadStarting:
    return module_ends(*static_cast<const SanitizerModule*>(data));
  case ResourceEvent::kContextDestroyStarting:
    return context_ends(*static_cast<const SanitizerContext*>(data));
  }
}

// Null: it is subscribed.
const char* why_not_subscribed() noexcept {
  if (compiled_patches().empty()) return "this build has no patches: nvcc was not there";
  if (core->toolkit.initial_environment != nullptr && is_other_tool_injected(core->toolkit))
    return "another tool is injected into CUDA (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH), and "
           "one at a time can patch code";
  if (const char* reason = open_sanitizer(core->toolkit, api)) return reason;
  if (api.subscribe(&patch_subscriber, on_event, nullptr) != 0)
    return "the Sanitizer API did not answer: another tool uses it, or it does not know this driver";
  const auto is_enabled = [](SanitizerDomain domain, auto event) {
    return api.enable(1, patch_subscriber, static_cast<std::uint32_t>(domain),
                      static_cast<std::uint32_t>(event)) == 0;
  };
  if (is_enabled(SanitizerDomain::kLaunch, kLaunchBegin) &&
      is_enabled(SanitizerDomain::kGraphs, kNodeLaunchBegin) &&
      is_enabled(SanitizerDomain::kResource, ResourceEvent::kContextDestroyStarting) &&
      is_enabled(SanitizerDomain::kResource, ResourceEvent::kModuleUnloadStarting) &&
      is_enabled(SanitizerDomain::kResource, ResourceEvent::kModuleLoaded))
    return nullptr;
  api.unsubscribe(std::exchange(patch_subscriber, nullptr));
  return "the Sanitizer API does not say when code is loaded and launched";
}

} // namespace

void begin_patches() noexcept {
  const char* reason = why_not_subscribed();
  if (reason == nullptr) return;
  note_unchecked("", (std::string("machine code is not checked: ") + reason).c_str(), 0);
}

void enter_patches() noexcept {
  if (patch_subscriber == nullptr) return;
  const Work work(first_table().context());
  control.store(work.ready() ? make_control() : 0);
  if (control.load() == 0)
    note_unchecked("", "machine code is not checked: there is no memory for what patches record",
                   0);
}

void leave_patches() noexcept {
  control.store(0);
  forget_patch_reports();
}

void abandon_patches() noexcept {
  patching = PTHREAD_MUTEX_INITIALIZER;
  patches_now = false;
  patch_subscriber = nullptr; // the child's CUDA calls fail
  leave_patches();
  contexts.begin_anew();
  abandon_functions();
  patched_launches.store(0);
}

PatchedLaunch::PatchedLaunch(const Kernel& kernel, CUfunction function, const Shape& shape) noexcept
    : kernel_(kernel) {
  const CUdeviceptr at = control.load(std::memory_order_acquire);
  if (at == 0) return;
  write_regions(shape.stream);
  number_ = remember_launch(describe(kernel, first_table(), function, shape));
  first_table().settle();
  pending_launch = {data_of(at, number_), nullptr};
}

bool PatchedLaunch::end(bool was_taken) noexcept {
  if (number_ == 0) return false;
  const Pending done = std::exchange(pending_launch, {});
  if (!was_taken || done.module == nullptr) {
    forget_launch(number_);
    return false;
  }
  count_launch();
  patched_launches.fetch_add(1);
  if (kernel_.launches.fetch_add(1, std::memory_order_relaxed) == 0)
    keep_function(kernel_.name, done.module, &kernel_);
  return true;
}

bool are_graphs_patched() noexcept { return patch_control() != 0; }

void report_patched_launches() noexcept {
  const std::uint64_t launches = patched_launches.exchange(0);
  if (launches == 0) return;
  std::set<std::string> names;
  for (const PatchedFunction& one : patched_functions()) names.insert(one.name);
  const std::string words =
    "in " + std::to_string(launches) + (launches == 1 ? " launch" : " launches") + " of " +
    std::to_string(names.size()) + (names.size() == 1 ? " kernel" : " kernels") +
    " whose machine code was patched, shared and local memory and copies by cp.async and TMA were "
    "not checked";
  core->unchecked("", words.c_str(), 0);
}

CUdeviceptr patch_control() noexcept { return control.load(std::memory_order_acquire); }

PatchedFunction patched_function_at(std::uint64_t pc) noexcept {
  for (PatchedFunction& one : patched_functions()) {
    if (api.function_location(one.module, one.name.c_str(), &one.pc, &one.bytes) == 0 &&
        pc - one.pc < one.bytes)
      return one;
  }
  return {};
}

} // namespace gmt::interposer::kernel_checks
