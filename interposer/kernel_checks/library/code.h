// SPDX-License-Identifier: Apache-2.0
// Modules that have a plain and a checked form of each kernel, and which of them a launch gets. The
// program's handles are the driver's own, of the plain form; the checked one is found by its name
// at the first launch.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interposer/kernel_checks/library/code_cache.h"
#include "interposer/kernel_checks/library/heap_blocks.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/table.h"
#include "rewriter/rewriter.h"

namespace gmt::interposer::kernel_checks {

// Of a site, what its last record said: counters that rise without a record belong there.
struct LastReport {
  bool is_there = false;
  Launch launch;
  rewriter::Record record;
};

// A module's variables in a context that has a table.
struct ModuleSlot {
  std::atomic<CUdeviceptr> counts{0}; // 0: they are not looked up yet. Set last
  CUdeviceptr records = 0, used = 0, flagged = 0, constant = 0;
  // The last launch that may have news; 0: none since its reports were fetched.
  std::atomic<std::uint64_t> launched{0};
  std::uint32_t fetched = 0;           // records
  std::vector<std::uint64_t> counted;  // what was reported of each counter
  std::vector<std::uint64_t> recorded; // of these with a record of its own
  std::vector<LastReport> last;        // by counter
};

struct Module {
  CUlibrary library = nullptr; // one of both
  CUmodule module = nullptr;
  CUcontext context = nullptr; // in which the module was loaded; null: a library is in all
  CUmodule instance = nullptr; // of the library, in a context; null: not known
  rewriter::Rewritten code;    // the library may read its text at any time
  std::string machine;         // the same of it, where it has been compiled; from the cache alone
  std::optional<CodeKey> key;  // its entry of the cache; none: it may not be compiled ahead
  CodeClaim claim;             // until its code is in the cache, or will not be
  std::string why_plain;       // not empty: it is as the program gave it
  std::uint32_t number = 0;    // from 1: which module's records are meant in memory of the host
  HeapUse heap_use = HeapUse::kNone;
  std::array<ModuleSlot, kMostTables> slots; // by table
  std::atomic<bool> is_in_graphs{false};     // nodes run checked forms of it
};

// Why a launch ran plain.
enum class PlainReason : std::uint8_t {
  kKernel, // the kernel's own: Kernel::why_plain
  kCapture,
  kContext,
  kVariables,
  kDevice,
  kHostMemory,
  kEnough, // of its launches are checked
  kLaunches,
  kRange,
  kSample,
  kCount,
};

// Which kernel a handle of a launch is. Lives as long as the process.
struct Kernel {
  std::string name;
  Module* module = nullptr;                   // null: of no module that is known
  CUfunction handle = nullptr;                // by which it was found
  CUcontext context = nullptr;                // where alone it can be launched; null: in each
  CUfunction checked = nullptr;               // null: it has no checked form
  rewriter::LaunchParameter launch_parameter; // of the checked form
  bool is_kernel = false;                     // the handles are CUkernels
  std::string why_plain;
  mutable std::atomic<std::uint64_t> launches{0}; // and nodes, that got the checked form
  mutable std::atomic<std::uint64_t> asked{0};    // all that the program made
  // With --kernel-checks-sample: launches, nanoseconds that a checked one cost, and whether one was
  // not measured yet.
  mutable std::atomic<std::uint64_t> offered{0}, sample_cost{0};
  mutable std::atomic<bool> is_measured_now{false};
  // Launches that ran plain and are not reported yet, by reason.
  mutable std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(PlainReason::kCount)>
    plain{};
};

// What the driver shall load in an image's place, or why not; null if there is no memory. Without
// the cache it has a text.
std::unique_ptr<Module> rewrite_image(const void* image, bool may_be_cached) noexcept;
void keep_library(std::unique_ptr<Module> module, CUlibrary library) noexcept;
void keep_module(std::unique_ptr<Module> module, CUmodule handle) noexcept;
void forget_library(CUlibrary library) noexcept; // before it is unloaded
void forget_module(CUmodule handle) noexcept;
void abandon_code() noexcept; // in a forked child
// The context that has the table has ended: its modules have, and variables of libraries, too.
void forget_code_of(const Table& table) noexcept;

// Of a handle that a launch names; null if nothing is known of it.
const Kernel* kernel_of(CUfunction function) noexcept;
// The driver has launched it in a table's context: its module may have news.
void mark_launched(const Kernel& kernel, const Table& table) noexcept;
// A node of a graph runs its checked form; such nodes run now.
void mark_in_graph(const Kernel& kernel) noexcept;
void mark_graph_launched() noexcept;
// Of a handle of a checked form, as a graph may answer it; of others the same.
CUfunction plain_form(CUfunction function) noexcept;
CUkernel plain_form(CUkernel kernel) noexcept;
// Whether the checked form can be launched so, as far as it can be known without a try.
bool can_launch(const Kernel& kernel, std::uint32_t threads_of_block) noexcept;
bool has_cluster(const Kernel& kernel) noexcept; // it asks for one itself
// Makes a kernel's module ready in the table's context; false: it cannot be.
bool is_ready(const Kernel& kernel, const Table& table) noexcept;
// The program may have changed what the plain form asks of the device.
void copy_attributes(const Kernel& kernel, CUfunction plain) noexcept;
// How many checked forms a library or module has: enumerations leave them out.
std::uint32_t checked_forms(CUlibrary library) noexcept;
std::uint32_t checked_forms(CUmodule module) noexcept;
bool is_checked_form(const char* name) noexcept;

// A launch that ran plain; and launches or memory without a kernel, reported at once.
void count_plain(const Kernel& kernel, PlainReason reason) noexcept;
void note_unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept;
void report_plain_launches() noexcept;

// Modules that may have news in a table's context. Those whose launches have all `ended`, until the
// next one.
std::vector<Module*> launched_modules(unsigned table, std::uint64_t ended) noexcept;

} // namespace gmt::interposer::kernel_checks
