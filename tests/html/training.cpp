// SPDX-License-Identifier: Apache-2.0

#include "tests/html/training.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/report_builder.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {
namespace {

using trace::FreeFunction;
using trace::MemoryKind;
using trace::RangeOp;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kLayers = 6, kEpochs = 8, kBatches = 20;

// The program, as its stacks show it: a return address stands for each line of this list.
struct Line {
  const char* function;
  const char* file; // of the source that is written; the line is found in it
  const char* language;
  const char* module;
};
constexpr std::array<Line, 9> kLines{{
  {"main", "train.py", "python", "/usr/bin/python3.11"},
  {"train_epoch", "train.py", "python", "/usr/bin/python3.11"},
  {"Model.forward", "model.py", "python", "/usr/bin/python3.11"},
  {"Model.__init__", "model.py", "python", "/usr/bin/python3.11"},
  {"nn::Linear::forward(nn::Tensor const&)", "layers.cpp", "", "/home/me/libnn.so"},
  {"nn::Tensor::allocate(unsigned long)", "layers.cpp", "", "/home/me/libnn.so"},
  {"nn::Attention::forward(nn::Tensor const&)", "layers.cpp", "", "/home/me/libnn.so"},
  {"load_batch", "train.py", "python", "/usr/bin/python3.11"},
  {"cublasCreate_v2", "", "", "/usr/lib/x86_64-linux-gnu/libcublas.so.13"},
}};
enum At : std::uint64_t {
  kMain,
  kEpoch,
  kForward,
  kInit,
  kLinear,
  kAllocate,
  kAttention,
  kLoad,
  kBlas
};

std::uint64_t address_of(std::uint64_t at) { return (at == kBlas ? 0x900000 : 0x400000) + at * 16; }

Stack stack_of(std::initializer_list<At> innermost_first) {
  Stack stack;
  for (const At at : innermost_first) stack.push_back(address_of(at));
  return stack;
}

class Training {
public:
  explicit Training(TraceWriter& trace) : log_(trace.log()) {
    trace.modules = {"+\t1\t400000\t500000\t400000\t\t/home/me/libnn.so",
                     "+\t1\t900000\ta00000\t900000\t\t/usr/lib/x86_64-linux-gnu/libcublas.so.13"};
  }

  void run() {
    log_.context(1, 0x5000, 0, true);
    in_range("build", [this] { build(); });
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch)
      in_range("epoch " + std::to_string(epoch + 1), [&] { this->epoch(epoch); });
    for (const std::uint64_t weights : weights_) free(weights);
  }

private:
  void in_range(const std::string& name, const std::function<void()>& work) {
    log_.range(RangeOp::kPush, name);
    ++open_;
    work();
    log_.range(RangeOp::kPop, "", --open_);
  }

  std::uint64_t allocate(std::uint64_t bytes, const Stack& stack) {
    next_ += 0x10000000;
    log_.alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = stack}, MemoryKind::kDevice,
               next_, bytes);
    return next_;
  }
  void free(std::uint64_t address) {
    log_.release({.api = "cuMemFree_v2", .via = "cudaFree", .stack = stack_of({kEpoch, kMain})},
                 FreeFunction::kMemFree, address);
  }

  void build() {
    for (std::uint64_t i = 0; i < kLayers; ++i)
      weights_.push_back(allocate((24 + 8 * i) * kMiB, stack_of({kAllocate, kInit, kMain})));
    weights_.push_back(allocate(33 * kMiB, stack_of({kBlas, kInit, kMain})));
  }

  void epoch(std::uint64_t number) {
    for (std::uint64_t i = 0; i < kBatches; ++i) {
      // The largest batch comes in the middle of the sixth epoch.
      const std::uint64_t scale = number == 5 && i == 9 ? 3 : 1;
      batch(scale * (4 + i % 5 + number));
    }
    allocate(3 * kMiB, stack_of({kLoad, kEpoch, kMain})); // is never freed
    if (number == 5)
      log_.alloc({.api = "cuMemAlloc_v2",
                  .via = "cudaMalloc",
                  .result = 2,
                  .stack = stack_of({kLoad, kEpoch, kMain})},
                 MemoryKind::kDevice, 0, 90'000 * kMiB);
  }

  void batch(std::uint64_t size) {
    std::vector<std::uint64_t> blocks{allocate(2 * size * kMiB, stack_of({kLoad, kEpoch, kMain}))};
    log_.set(
      {.api = "cuMemsetD8_v2", .via = "cudaMemset", .stack = stack_of({kLoad, kEpoch, kMain})},
      blocks[0], kMiB);
    in_range("forward", [&] {
      for (std::uint64_t i = 0; i < kLayers; ++i) {
        const At layer = i % 3 == 2 ? kAttention : kLinear;
        blocks.push_back(
          allocate((1 + i) * size * kMiB, stack_of({kAllocate, layer, kForward, kEpoch, kMain})));
        log_.set({.api = "cuMemsetD8_v2",
                  .via = "cudaMemset",
                  .stack = stack_of({layer, kForward, kEpoch, kMain})},
                 blocks.back(), kMiB);
      }
    });
    in_range("backward", [&] {
      for (; !blocks.empty(); blocks.pop_back()) free(blocks.back());
    });
  }

  LogWriter& log_;
  std::vector<std::uint64_t> weights_;
  std::uint64_t next_ = 0x7f0000000000, open_ = 0;
};

// Writes the sources, a function after the other; the line of each.
std::vector<std::uint32_t> write_sources(const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;
  std::vector<std::uint32_t> lines;
  for (const Line& line : kLines) {
    std::string& text = texts[line.file];
    if (text.empty()) text = "# Made up.\n";
    text += std::string("def ") + line.function +
            ":\n    memory = allocate(</script><b>)\n    return memory\n";
    lines.push_back(static_cast<std::uint32_t>(std::ranges::count(text, '\n')) - 1);
  }
  for (const auto& [name, text] : texts) {
    if (!name.empty()) write_file(folder / name, text);
  }
  return lines;
}

void name_frames(std::vector<Frame>& frames, const std::filesystem::path& folder,
                 const std::vector<std::uint32_t>& lines) {
  for (Frame& frame : frames) {
    for (std::size_t i = 0; i < kLines.size(); ++i) {
      if (frame.address != address_of(i)) continue;
      const Line& line = kLines[i];
      frame.function = line.function;
      frame.language = line.language;
      frame.module = line.module;
      if (*line.file == '\0') continue;
      frame.file = (folder / line.file).string();
      frame.line = lines[i];
    }
  }
}

// All texts of frames, in findings, tables and the history.
void for_each_frames(Report& report, const std::function<void(std::vector<Frame>&)>& visit) {
  for (ReportedFinding& finding : report.findings) {
    for (LabelledStack& stack : finding.stacks) visit(stack.frames);
  }
  for (ProcessReport& process : report.processes) {
    for (MemoryTables::Holder& holder : process.tables.holders) visit(holder.stack.frames);
    if (!process.history) continue;
    for (StackMemory& stack : process.history->stacks) visit(stack.stack.frames);
  }
}

} // namespace

Report training_report(const std::filesystem::path& folder) {
  TraceWriter trace;
  Training(trace).run();
  trace.write(folder / "trace");
  const std::vector<std::uint32_t> lines = write_sources(folder);
  AnalysisOptions options;
  options.history.columns = 512;
  std::vector<Analysis> analyses;
  analyses.push_back(analyze(folder / "trace", options));
  analyses[0].process.history->nanoseconds_per_unit = 250;
  analyses[0].process.executable = "/home/me/train.py";
  analyses[0].process.began_ns = 1'795'759'536'825'722'711; // 2026-11-27 06:05:36
  analyses[0].process.devices = {"NVIDIA H100 80GB HBM3"};
  analyses[0].process.driver_version = "13.0";
  analyses[0].process.arguments = {"python3", "train.py"};
  ReportOptions report_options;
  report_options.symbols = false;
  Report report = assemble_report(std::move(analyses), {folder / "trace"}, report_options);
  for_each_frames(report, [&](std::vector<Frame>& frames) { name_frames(frames, folder, lines); });
  return report;
}

void make_hostile(Report& report) {
  static const std::string kBad =
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    "<!--<script>\"'&amp;\\u003c\xe2\x80\xa8\xff${window.hacked=1}";
  for_each_frames(report, [](std::vector<Frame>& frames) {
    for (Frame& frame : frames) frame.function = frame.module = frame.language = frame.file = kBad;
  });
  for (ReportedFinding& finding : report.findings) {
    finding.message = finding.advice = finding.api = finding.range = finding.owner = kBad;
    for (LabelledStack& stack : finding.stacks) stack.label = stack.api = kBad;
  }
  for (ProcessReport& process : report.processes) {
    process.executable = process.host = process.trace = process.driver_version = kBad;
    process.devices = {kBad};
    process.arguments = {kBad};
    process.totals.peak_range = kBad;
    for (MemoryTables::KindRow& row : process.tables.memory_kinds) row.memory_kind = kBad;
    for (MemoryTables::Module& row : process.tables.modules) row.path = row.owner = kBad;
    if (!process.history) continue;
    for (MemoryHistory::Range& range : process.history->ranges) range.name = kBad;
    for (StackMemory& stack : process.history->stacks) stack.stack.api = kBad;
    for (MemoryHistory::LayerSet& set : process.history->sets) {
      for (MemoryHistory::Layer& layer : set.layers) layer.name = layer.name.empty() ? "" : kBad;
    }
  }
  report.remarks = {kBad};
  report.not_checked = {{kBad, kBad}};
}

} // namespace gmt::test
