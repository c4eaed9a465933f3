// SPDX-License-Identifier: Apache-2.0
// What tests of memory accesses share: a trace with an access log, the code of its kernels written
// down by hand, and shorthands for accesses of whole warps.
#pragma once

#include <map>
#include <string>

#include "analyzer/device_code/instruction.h"
#include "tests/unit/analyzer/support/access_log_writer.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {

class AccessTest : public AnalysisTest {
protected:
  // Executions of an instruction, unless a test says otherwise
  static constexpr std::uint64_t kWarps = 1 << 20;
  static constexpr std::uint64_t kKernel = 0xf1; // handle

  AccessTest() {
    expect_only({"bank-conflict", "local-spill", "uncoalesced"});
    log().context(1, 0xc1, 0, true);
    trace.format = "1.3";
    trace.info.emplace_back("option.coalescing=1");
  }

  // An instruction of the function written last, with its figures a whole warp's execution; `line`
  // 0: none.
  struct Access {
    MemoryOp op = MemoryOp::kLoad;
    std::uint32_t width = 4;
    std::uint32_t line = 10;
    double sectors = 0, ideal = 0;               // global memory
    double wavefronts = 0, ideal_wavefronts = 0; // shared memory
    double local = 0;
    double bytes = 0; // 0: not counted
    double threads = 32;
    std::uint64_t executions = kWarps;
    std::uint32_t address_register = Instruction::kNoRegister;
    std::int32_t address_offset = 0;
  };
  void function(const std::string& linked, std::uint64_t launches = 1, std::uint64_t measured = 1) {
    access.function(linked, launches, measured);
    FunctionCode& written = code[linked];
    written = {.name = linked, .module = "/bin/app", .has_lines = true, .instructions = {}};
    now_ = &written;
  }
  void add(const Access& a) {
    const auto figure = [&a](double one) {
      return static_cast<std::uint64_t>(one * static_cast<double>(a.executions));
    };
    const auto offset = static_cast<std::uint32_t>(16 * (now_->instructions.size() + 1));
    const MemorySpace space = a.local != 0        ? MemorySpace::kLocal
                              : a.wavefronts != 0 ? MemorySpace::kShared
                                                  : MemorySpace::kGlobal;
    Instruction instruction{.offset = offset,
                            .op = a.op,
                            .space = space,
                            .bytes = a.width,
                            .address_register = a.address_register,
                            .address_offset = a.address_offset,
                            .lines = {}};
    if (a.line != 0) instruction.lines.push_back({now_->name, "/src/step.cu", a.line});
    now_->instructions.push_back(instruction);
    access.instruction(offset, {.executions = a.executions,
                                .threads = figure(a.threads),
                                .sectors = figure(a.sectors),
                                .ideal = figure(a.ideal),
                                .bytes = figure(a.bytes),
                                .wavefronts = figure(a.wavefronts),
                                .ideal_wavefronts = figure(a.ideal_wavefronts),
                                .local_sectors = figure(a.local)});
  }
  FunctionCode& code_now() { return *now_; }

  // The host's side: the kernel's name, then launches with pointers among their arguments.
  void name(std::uint64_t handle, const std::string& text) { log().name(handle, text); }
  void launch(std::uint64_t handle, const std::vector<std::uint64_t>& pointers = {},
              std::uint64_t from = 0x400) {
    std::vector<std::uint64_t> arguments;
    for (unsigned i = 0; i < pointers.size(); ++i)
      arguments.push_back(trace::argument_word(pointers[i], i));
    log().record({.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {from},
                  .flags = trace::kLaunchScanned},
                 Made<trace::LaunchFields>().function(handle).grid({1, 1, 1}).block({32, 1, 1}),
                 arguments);
  }

  const WordedAnalysis& run_access(bool with_code = true) {
    trace.write(directory.path() / "trace");
    if (!access.empty()) access.write(directory.path() / "trace");
    options = {};
    options.coalescing_floor = floor;
    if (with_code) {
      options.find_code = [this](std::string_view linked, auto, auto) -> const FunctionCode* {
        const auto found = code.find(std::string(linked));
        return found == code.end() ? nullptr : &found->second;
      };
    }
    result = analyze(directory.path() / "trace", options);
    return result;
  }
  // The finding's cause, "" if it has none, "-" if there is no such finding.
  std::string cause(const std::string& kind = "uncoalesced") const {
    const ReportedFinding* f = find(kind);
    return f == nullptr ? "-" : f->access->cause;
  }

  AccessLogWriter access;
  std::map<std::string, FunctionCode> code;
  std::uint64_t floor = MemoryAccess::kDefaultFloor;

private:
  FunctionCode* now_ = nullptr;
};

} // namespace gmt::test
