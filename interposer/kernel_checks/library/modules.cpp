// SPDX-License-Identifier: Apache-2.0
// Modules: what is loaded, where their variables lie, and which may have news.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "interposer/kernel_checks/library/code_store.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/written.h"
#include "rewriter/heap_table.h"

namespace gmt::interposer::kernel_checks {

namespace {

constinit Lasting<Code> all_code;

void keep(std::unique_ptr<Module> module) noexcept {
  const bool marks = module->heap_use == HeapUse::kMarked && module->why_plain.empty();
  if (module->heap_use != HeapUse::kNone && !marks) distrust_heap();
  const Locked lock;
  module->number = static_cast<std::uint32_t>(code().modules.size() + 1);
  code().modules.push_back(std::move(module));
}

void end(ModuleSlot& slot) noexcept {
  slot.counts = 0;
  slot.records = slot.used = 0;
  slot.launched = 0;
}

// A later module may get the same handles.
void end(Module& module) noexcept {
  module.library = nullptr;
  module.module = module.instance = nullptr;
  module.code.text = {};
  module.machine = {};
  for (ModuleSlot& slot : module.slots) end(slot);
  module.is_in_graphs = false;
}

template <class Is> void forget(Is is) noexcept {
  const Locked lock;
  for (const auto& module : code().modules) {
    if (is(*module)) end(*module);
  }
  code().kernels.clear();
}

// Libraries that may have the kernel: its checked form, or nothing that is known.
std::vector<Module*> libraries_with(const char* kernel) noexcept {
  const Locked lock;
  std::vector<Module*> found;
  for (const auto& module : code().modules) {
    const bool may_have =
      !module->why_plain.empty() || kernel == nullptr || find_form(*module, kernel) != nullptr;
    if (module->library != nullptr && may_have) found.push_back(module.get());
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const Module* one) { return one->why_plain.empty(); });
  return found;
}

Module* find_known(CUmodule handle) noexcept {
  const Locked lock;
  for (const auto& module : code().modules) {
    if (module->module == handle || module->instance == handle) return module.get();
  }
  return nullptr;
}

bool look_up_variable(const Module& module, std::string_view name, CUdeviceptr* address) {
  std::size_t bytes = 0;
  const std::string text(name);
  return module.library != nullptr
           ? driver.library_variable(address, &bytes, module.library, text.c_str()) == 0
           : driver.module_variable(address, &bytes, module.module, text.c_str()) == 0;
}

bool write_heap(CUdeviceptr at, std::uint64_t heap) {
  return driver.send(at, &heap, sizeof heap, first_table().stream()) == 0 &&
         driver.wait_for_stream(first_table().stream()) == 0;
}

// Modules that were launched before there was one.
void share_heap(std::uint64_t heap) {
  std::vector<CUdeviceptr> constants;
  {
    const Locked lock;
    for (const auto& module : code().modules) {
      const ModuleSlot& slot = module->slots[first_table().index()];
      if (slot.counts != 0) constants.push_back(slot.constant);
    }
  }
  for (const CUdeviceptr constant : constants)
    write_heap(constant + offsetof(rewriter::Placed, heap), heap);
}

// The address of the HeapTable, where the module's own code has it, too, if it marks. One context
// has one.
std::uint64_t heap_for(const Module& module, const Table& table) {
  if (&table != &first_table()) return 0;
  if (module.heap_use != HeapUse::kMarked) return heap_table();
  CUdeviceptr own = 0;
  bool is_new = false;
  const std::uint64_t heap = make_heap_table(&is_new);
  if (heap != 0 &&
      (!look_up_variable(module, rewriter::kHeapVariable, &own) || !write_heap(own, heap)))
    distrust_heap();
  if (is_new) share_heap(heap);
  return heap;
}

bool make_ready(Module& module, const Table& table) {
  forget_unmapped_host();
  CUdeviceptr counts = 0, records = 0, used = 0, flagged = 0, constant = 0;
  if (!look_up_variable(module, rewriter::kCounts, &counts) ||
      !look_up_variable(module, rewriter::kRecords, &records) ||
      !look_up_variable(module, rewriter::kUsed, &used) ||
      !look_up_variable(module, rewriter::kFlagged, &flagged))
    return false;
  rewriter::Placed placed = rewriter::placed_of(table.placed());
  placed.flag = table.flag();
  constexpr unsigned kNumberBits = 32 - rewriter::kModuleBits;
  if (placed.flag != 0 && module.number >> kNumberBits == 0) {
    placed.host_records = placed.flag + kBehindFlags;
    placed.module = module.number << rewriter::kModuleBits;
  }
  placed.heap = heap_for(module, table);
  placed.written = table_of_written_pages();
  if (!look_up_variable(module, rewriter::kTable, &constant) ||
      driver.send(constant, &placed, sizeof placed, table.stream()) != 0 ||
      driver.wait_for_stream(table.stream()) != 0)
    return false;
  const Locked lock;
  ModuleSlot& slot = module.slots[table.index()];
  if (slot.counts != 0) return true; // another thread's first launch was quicker
  slot.records = records;
  slot.used = used;
  slot.flagged = flagged;
  slot.constant = constant;
  slot.fetched = 0;
  slot.counted.assign(module.code.sites.size() * rewriter::kCountKinds, 0);
  slot.recorded = slot.counted;
  slot.last.assign(slot.counted.size(), {});
  slot.counts = counts;
  return true;
}

void mark_launched(ModuleSlot& slot, std::uint64_t count) noexcept {
  std::atomic<std::uint64_t>& last = slot.launched;
  std::uint64_t before = last.load();
  while (before < count && !last.compare_exchange_weak(before, count)) {
  }
}

constinit std::atomic<bool> any_in_graphs{false};

} // namespace

Code& code() noexcept { return *all_code; }

Module* find_module(CUlibrary library) noexcept {
  const Locked lock;
  for (const auto& module : code().modules) {
    if (library != nullptr && module->library == library) return module.get();
  }
  return nullptr;
}

const rewriter::LaunchParameter* find_form(const Module& module, std::string_view kernel) {
  const auto found = std::ranges::find(module.code.kernels, kernel);
  if (found == module.code.kernels.end()) return nullptr;
  return &module.code
            .launch_parameters[static_cast<std::size_t>(found - module.code.kernels.begin())];
}

// Asking for an instance loads it, so those are asked that have the kernel.
Module* find_module(CUmodule handle, const char* kernel) noexcept {
  if (Module* known = find_known(handle)) return known;
  for (Module* library : libraries_with(kernel)) {
    CUmodule instance = nullptr;
    if (driver.instance_of(&instance, library->library) != 0 || instance != handle) continue;
    const Locked lock;
    library->instance = instance;
    return library;
  }
  return nullptr;
}

void keep_library(std::unique_ptr<Module> module, CUlibrary library) noexcept {
  module->library = library;
  keep(std::move(module));
}

void keep_module(std::unique_ptr<Module> module, CUmodule handle) noexcept {
  module->module = handle;
  driver.current(&module->context);
  module->code.text = {}; // the driver has compiled it
  module->machine = {};
  keep(std::move(module));
}

void forget_library(CUlibrary library) noexcept {
  forget([library](const Module& module) { return module.library == library; });
}

void forget_module(CUmodule handle) noexcept {
  forget([handle](const Module& module) { return module.module == handle; });
}

void abandon_code() noexcept { all_code.begin_anew(); }

void forget_code_of(const Table& table) noexcept {
  const CUcontext context = table.context();
  forget([context](const Module& module) {
    return module.module != nullptr && module.context == context;
  });
  bool are_others = false;
  for_each_table([&](const Table& other) { are_others |= &other != &table; });
  const Locked lock;
  for (const auto& module : code().modules) {
    end(module->slots[table.index()]);
    module->instance = nullptr;
    if (!are_others) module->is_in_graphs = false;
  }
}

bool is_ready(const Kernel& kernel, const Table& table) noexcept {
  Module& module = *kernel.module;
  if (module.slots[table.index()].counts.load(std::memory_order_acquire) != 0) return true;
  const Work work(table.context());
  return work.ready() && make_ready(module, table);
}

std::uint32_t checked_forms(CUlibrary library) noexcept {
  const Module* module = find_module(library);
  return module != nullptr ? static_cast<std::uint32_t>(module->code.kernels.size()) : 0;
}

std::uint32_t checked_forms(CUmodule handle) noexcept {
  const Module* module = find_module(handle, nullptr);
  return module != nullptr ? static_cast<std::uint32_t>(module->code.kernels.size()) : 0;
}

void mark_launched(const Kernel& kernel, const Table& table) noexcept {
  kernel.launches.fetch_add(1, std::memory_order_relaxed);
  mark_launched(kernel.module->slots[table.index()], count_launch());
}

void mark_in_graph(const Kernel& kernel) noexcept {
  kernel.launches.fetch_add(1, std::memory_order_relaxed);
  kernel.module->is_in_graphs.store(true);
  any_in_graphs.store(true);
}

void mark_graph_launched() noexcept {
  if (!any_in_graphs.load()) return;
  const std::uint64_t count = count_launch();
  const Locked lock;
  for (const auto& module : code().modules) {
    if (!module->is_in_graphs.load()) continue;
    for (ModuleSlot& slot : module->slots) { // nodes may be of several contexts
      if (slot.counts.load() != 0) mark_launched(slot, count);
    }
  }
}

std::vector<Module*> launched_modules(unsigned table, std::uint64_t ended) noexcept {
  const Locked lock;
  std::vector<Module*> launched;
  for (const auto& module : code().modules) {
    ModuleSlot& slot = module->slots[table];
    std::uint64_t last = slot.launched.load();
    if (last == 0 || slot.counts.load() == 0) continue;
    launched.push_back(module.get());
    if (last <= ended) slot.launched.compare_exchange_strong(last, 0);
  }
  return launched;
}

} // namespace gmt::interposer::kernel_checks
