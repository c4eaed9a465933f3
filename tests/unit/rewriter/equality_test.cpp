// SPDX-License-Identifier: Apache-2.0
// Kernels that compilers wrote run as they are under the executor's checks, and rewritten: the same
// bytes in memory, and the same mistakes. What they are called with is made up, so that many of
// them make mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ptx/print/join.h"
#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/rewriter/support/checked_world.h"

namespace gmt::rewriter {
namespace {

using executor::End;
using executor::Outcome;
using executor::Report;
using executor::ReportKind;

constexpr std::uint64_t kSizes[] = {4096, 1000, 300, 40000};
constexpr std::uint64_t kHeapBytes = std::uint64_t{1} << 20;
// Megabytes of text, for which reading takes long.
const std::set<std::string> kLarge = {"cub_device", "cub_sort", "thrust_scan", "thrust_select",
                                      "thrust_sort"};
// What depends on time, and what is not checked.
constexpr const char* kUnlike[] = {"clock", "globaltimer", "cp.async.bulk"};

using Mistakes = std::map<std::pair<std::uint32_t, CountKind>, std::uint64_t>; // by line of PTX

struct Run {
  bool has_run = false;
  test::Listener listener;
  Outcome outcome;
  std::vector<std::byte> bytes; // of blocks, and of variables that hold no addresses of code
  Mistakes counted;             // by the code itself
};

// Pointers and small numbers.
std::vector<std::byte> parameters_of(const executor::Kernel& kernel, const test::World& world) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const executor::Parameter& parameter = kernel.parameters[i];
    for (std::size_t at = 0; at < parameter.size; at += 8) {
      const std::uint64_t value = parameter.size >= 8 ? world.blocks[(i + at / 8) % 4].begin : 32;
      const std::size_t size = std::min<std::size_t>(parameter.size - at, 8);
      std::memcpy(bytes.data() + parameter.offset + at, &value, size);
    }
  }
  return bytes;
}

// A text with its own variables, and what the rewriter says of it if it wrote it.
struct Code {
  std::vector<std::string_view> texts; // of several files
  const ptx::Module& given;
  const Rewritten* rewritten = nullptr;
};

Mistakes counted_by(test::World& world, const std::vector<Site>& sites) {
  Mistakes mistakes;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    for (const CountKind kind : {kOutOfBoundsCount, kMisalignedCount, kUnwrittenCount}) {
      const std::uint64_t count = world.count(i, kind);
      if (count != 0) mistakes[{sites[i].ptx_line, kind}] += count;
    }
  }
  return mistakes;
}

void keep_bytes(test::World& world, const ptx::Module& given, Run& made) {
  const auto keep = [&](std::uint64_t address, std::uint64_t size) {
    made.bytes.insert(made.bytes.end(), world.at(address), world.at(address) + size);
  };
  for (std::size_t i = 0; i < std::size(kSizes); ++i) keep(world.blocks[i].begin, kSizes[i]);
  for (const ptx::Variable& variable : given.variables()) {
    const auto found = world.variables.find(std::string(variable.name));
    if (found != world.variables.end() && variable.addresses.empty())
      keep(found->second, variable.size);
  }
}

Run run(test::World& world, const Code& code, const std::string& kernel_name) {
  Run made;
  world.reset();
  for (const std::uint64_t size : kSizes) {
    const std::uint64_t begin = world.block(size);
    for (std::uint64_t i = 0; i < size; ++i)
      *world.at(begin + i) = static_cast<std::byte>(i % 4 == 0 ? i / 4 % 61 : 0);
  }
  if (world.options.checks_written) {
    const Block &parts = world.blocks[1], &whole = world.blocks[3];
    for (std::uint64_t at = parts.begin; at + 64 <= parts.end; at += 128)
      world.set_written(at, 64, false);
    world.set_written(whole.begin, whole.end - whole.begin, false);
  }
  const std::uint64_t heap_begin = world.block(kHeapBytes);
  std::string error;
  const auto module = executor::Module::load(code.texts, &error);
  EXPECT_NE(module, nullptr) << error;
  if (module == nullptr) return made;
  world.add_variables(*module);
  const executor::Kernel* kernel = module->find_kernel(kernel_name);
  EXPECT_NE(kernel, nullptr) << kernel_name;
  if (kernel == nullptr) return made;
  const auto heap = executor::DeviceHeap::create(world.memory, heap_begin, kHeapBytes);
  const std::vector<std::byte> parameters = parameters_of(*kernel, world);
  executor::Launch launch;
  launch.module = module.get();
  launch.kernel = kernel;
  launch.grid = {2};
  launch.block = {64};
  launch.dynamic_shared_bytes = 1024;
  launch.parameters = parameters;
  launch.memory = &world.memory;
  launch.heap = heap.get();
  const bool asks = world.options.checks_written && code.rewritten == nullptr;
  launch.checks = asks ? executor::Checks::kDefault : executor::Checks::kNone;
  launch.limits.instructions = code.rewritten == nullptr ? 50000 : 5000000;
  launch.limits.memory_bytes = std::uint64_t{256} << 20;
  made.outcome = executor::run(launch, made.listener);
  made.has_run = true;
  keep_bytes(world, code.given, made);
  if (code.rewritten != nullptr) made.counted = counted_by(world, code.rewritten->sites);
  return made;
}

// What the executor reports: of global memory, or of shared and local memory.
Mistakes mistakes_of(const Run& plain, bool in_global) {
  Mistakes mistakes;
  for (const Report& report : plain.listener.reports) {
    const bool is_small =
      report.space == executor::Space::kShared || report.space == executor::Space::kLocal;
    if (in_global ? report.space != executor::Space::kGlobal : !is_small) continue;
    const bool out =
      report.kind == ReportKind::kOutOfBounds || report.kind == ReportKind::kUseAfterFree;
    if (!out && report.kind != ReportKind::kMisaligned) continue;
    mistakes[{report.location.ptx_line, out ? kOutOfBoundsCount : kMisalignedCount}] +=
      report.count;
  }
  return mistakes;
}

std::uint64_t count_of(const Mistakes& mistakes, const Mistakes::key_type& where) {
  const auto found = mistakes.find(where);
  return found == mistakes.end() ? 0 : found->second;
}

// Global memory: the same counts. Shared and local memory: a step into another array is found
// where the access's own one is known, and not by the executor, which knows what lies between two
// arrays. That is not known where the block's size alone is.
std::string difference(const Mistakes& counted, const Mistakes& global, const Mistakes& small,
                       const std::vector<Site>& sites) {
  std::map<std::uint32_t, bool> has_array; // by line
  for (const Site& site : sites) has_array[site.ptx_line] = !site.array.empty();
  Mistakes all = global;
  all.insert(counted.begin(), counted.end());
  all.insert(small.begin(), small.end());
  std::string text;
  for (const auto& [where, unused] : all) {
    const std::uint64_t found = count_of(counted, where), low = count_of(global, where);
    const std::uint64_t both = low + count_of(small, where);
    const auto site = has_array.find(where.first);
    if (site == has_array.end() && low == 0) continue; // of local memory, by any address
    const bool is_known = site != has_array.end() && site->second;
    const bool is_good = is_known || where.second == kMisalignedCount
                           ? found == both || (is_known && found > both)
                           : found >= low && found <= both;
    if (is_good) continue;
    text += "line " + std::to_string(where.first) + (where.second == 0 ? " out " : " misaligned ") +
            std::to_string(found) + ", not " + std::to_string(low) + " to " + std::to_string(both) +
            "; ";
  }
  return text;
}

struct Seen {
  std::size_t kernels = 0, compared = 0, with_mistakes = 0, in_small_memory = 0;
  std::size_t found = 0, not_named = 0, missed = 0; // loads of bytes that nothing wrote
};

// The executor follows values, and of several loads that one value comes from it names the last.
// The code counts what certainly decides something: where it does, the executor reports.
void compare_unwritten(const Run& plain, const Run& checked, Seen& seen) {
  std::set<std::uint32_t> named;
  for (const Report& report : plain.listener.reports) {
    const bool is_followed =
      report.space == executor::Space::kGlobal || report.space == executor::Space::kShared;
    if (report.kind == ReportKind::kUninitializedRead && is_followed)
      named.insert(report.location.ptx_line);
  }
  std::set<std::uint32_t> found;
  for (const auto& [where, count] : checked.counted) {
    if (where.second == kUnwrittenCount) found.insert(where.first);
  }
  EXPECT_TRUE(found.empty() || !named.empty()) << "line " << *found.begin();
  for (const std::uint32_t line : found) ++(named.contains(line) ? seen.found : seen.not_named);
  for (const std::uint32_t line : named) seen.missed += found.contains(line) ? 0 : 1;
}

void compare(test::World& world, const Code& plain_code, const Code& checked_code,
             const std::string& kernel, Seen& seen) {
  SCOPED_TRACE(kernel);
  const Run plain = run(world, plain_code, kernel);
  ++seen.kernels;
  // One that waits for others, or for what the made-up memory never says, is not compared.
  if (!plain.has_run || plain.outcome.end != End::kDone) return;
  const Run checked = run(world, checked_code, std::string(kChecked) + kernel);
  if (!checked.has_run) return;
  ++seen.compared;
  EXPECT_EQ(checked.outcome.end, End::kDone) << checked.outcome.reason;
  const Mistakes global = mistakes_of(plain, true), small = mistakes_of(plain, false);
  if (!global.empty()) ++seen.with_mistakes;
  if (!small.empty()) ++seen.in_small_memory;
  Mistakes counted = checked.counted;
  std::erase_if(counted, [](const auto& one) { return one.first.second == kUnwrittenCount; });
  // Beside the arrays lies what is known of them, so what is read there by mistake differs.
  if (!world.options.checks_written || small.empty()) {
    EXPECT_EQ(difference(counted, global, small, checked_code.rewritten->sites), "");
  }
  if (world.options.checks_written) compare_unwritten(plain, checked, seen);
  // What would fault is left out, if code is copied. Behind a block, in its last 512 bytes, it
  // would not.
  const bool is_copied = world.options.most_copied != 0 || world.options.checks_written;
  for (const Report& report : checked.listener.reports) {
    if (!is_copied || report.space != executor::Space::kGlobal) continue;
    EXPECT_NE(world.entry(report.address), kUnmappedEntry) << report.location.instruction;
  }
  EXPECT_EQ(checked.listener.printed, plain.listener.printed);
  // What such a kernel computes hangs on which lane of a warp stores first.
  if (!small.empty()) return;
  // The barrier at the begin changes which warp is first.
  if (world.options.checks_written && kernel.find("those_who_are_there") != std::string::npos)
    return;
  const auto differ = std::ranges::mismatch(checked.bytes, plain.bytes);
  EXPECT_TRUE(differ.in1 == checked.bytes.end())
    << "byte " << differ.in1 - checked.bytes.begin() << " of " << plain.bytes.size();
}

bool is_unlike(const std::string& text) {
  return std::ranges::any_of(
    kUnlike, [&text](const char* word) { return text.find(word) != std::string::npos; });
}

void walk(const std::filesystem::path& path, test::World& world, Seen& seen) {
  const std::string name = path.filename().string();
  const bool is_linked = name.starts_with("separable"); // of two
  const bool is_large = kLarge.find(name.substr(0, name.find('.'))) != kLarge.end();
  // The table says nothing of blocks that a kernel frees.
  if (is_linked || is_large || name.starts_with("device_heap")) return;
  SCOPED_TRACE(name);
  const std::string text = ptx::test::read_fixture(path);
  if (is_unlike(text)) return;
  const ptx::Module given = ptx::parse_module(text);
  const Rewritten rewritten = rewrite(text, world.options);
  EXPECT_FALSE(rewritten.kernels.empty());
  for (const std::string& kernel : rewritten.kernels)
    compare(world, {{text}, given}, {{rewritten.text}, given, &rewritten}, kernel, seen);
}

class Equality : public testing::TestWithParam<Bounds> {};

TEST_P(Equality, ResultsAndMistakesAreThoseOfThePlainKernels) {
  Seen seen;
  test::World world(GetParam());
  for (const auto& path : ptx::test::fixtures_to_walk()) walk(path, world, seen);
  std::printf("%zu kernels, %zu compared, %zu of them with mistakes, %zu in small memory\n",
              seen.kernels, seen.compared, seen.with_mistakes, seen.in_small_memory);
  EXPECT_GT(seen.compared, ptx::test::at_least(500));
  EXPECT_GT(seen.with_mistakes, ptx::test::at_least(80));
  EXPECT_GT(seen.in_small_memory, ptx::test::at_least(10));
}

// The same with blocks of which parts are not written.
TEST(EqualityOfUnwritten, WhatCodeFindsTheExecutorReports) {
  Seen seen;
  test::World world(Bounds::kInLoops);
  world.options.checks_written = true;
  for (const auto& path : ptx::test::fixtures_to_walk()) walk(path, world, seen);
  std::printf("%zu loads found, %zu others of the same values, %zu missed\n", seen.found,
              seen.not_named, seen.missed);
  EXPECT_GT(seen.found, ptx::test::at_least(40)); // they are in few of the fixtures
}

// What nvcc -rdc compiled of two files is joined first.
TEST_P(Equality, CodeOfSeveralFiles) {
  Seen seen;
  test::World world(GetParam());
  const std::filesystem::path folder = ptx::test::fixtures().at(0).parent_path();
  const std::vector<std::string> texts = {
    ptx::test::read_fixture(folder / "separable.sm_90.ptx.zst"),
    ptx::test::read_fixture(folder / "separable_other.sm_90.ptx.zst")};
  const std::string joined = ptx::join_modules(texts);
  const ptx::Module given = ptx::parse_module(joined);
  const Rewritten rewritten = rewrite(joined, world.options);
  EXPECT_EQ(rewritten.kernels.size(), 2u);
  const Code as_linked{{texts[0], texts[1]}, given};
  for (const std::string& kernel : rewritten.kernels) {
    const auto linked = run(world, as_linked, kernel);
    EXPECT_EQ(linked.bytes, run(world, {{joined}, given}, kernel).bytes);
    compare(world, {{joined}, given}, {{rewritten.text}, given, &rewritten}, kernel, seen);
  }
  EXPECT_EQ(seen.compared, 2u);
}

#ifdef GMT_DEFAULT_BOUNDS_ALONE
INSTANTIATE_TEST_SUITE_P(Bounds, Equality, testing::Values(Bounds::kInLoops));
#else
INSTANTIATE_TEST_SUITE_P(Bounds, Equality,
                         testing::Values(Bounds::kNever, Bounds::kInLoops, Bounds::kAlways));
#endif

} // namespace
} // namespace gmt::rewriter
