// SPDX-License-Identifier: Apache-2.0
// Runs forms of opcodes on the executor: each as a module of its own, over memory that only it has.
#pragma once

#include "simulated_cuda/executor/executor.h"
#include "tests/executor/forms/operands.h"
#include "tests/executor/forms/recording.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace gmt::executor {

class FormRunner {
public:
  // The results, or why there are none: `reason` is empty then only if the form was executed.
  std::vector<std::byte> run(const forms::Form& form, std::span<const std::byte> operands,
                             std::string* reason) {
    const std::string text = std::string(forms::text_head()) + forms::kernel_text(form, "form");
    const std::string_view views[] = {text};
    const std::unique_ptr<Module> module = Module::load(views, reason);
    if (module == nullptr) return {};
    std::vector<std::byte> in(operands.begin(), operands.end());
    std::vector<std::byte> out(forms::bytes_of(form.results, form.count));
    Memory memory;
    memory.add_host_memory(kOperands, in.size(), in.data());
    memory.add_host_memory(kResults, out.size(), out.data());
    const std::uint64_t addresses[] = {kOperands, kResults};
    Launch launch;
    launch.module = module.get();
    launch.kernel = module->find_kernel("form");
    launch.grid = {form.count / forms::kBlock};
    launch.block = {forms::kBlock};
    launch.parameters = std::as_bytes(std::span(addresses));
    launch.memory = &memory;
    Reports reports;
    const Outcome outcome = executor::run(launch, reports);
    *reason = outcome.end == End::kDone ? reports.text : outcome.reason;
    return out;
  }

  // How the executor's results differ from the recorded ones; empty if they do not. `errors` has
  // the largest errors of an approximate form.
  std::string difference(const forms::Form& form, const forms::Recording& recording,
                         forms::Difference* errors) {
    const auto found = recording.of_form.find(form.name);
    const std::vector<std::byte> operands = forms::operands_of(form);
    if (found == recording.of_form.end()) return "it is not in the recording: record anew";
    if (found->second.refused) return ""; // the GPU's assembler does not know it
    if (found->second.fingerprint != forms::fingerprint_of(form, operands))
      return "it was recorded with other operands or another kernel: record anew";
    std::string reason;
    const std::vector<std::byte> results = run(form, operands, &reason);
    if (!reason.empty()) return reason;
    const forms::Difference difference =
      forms::compare(form, operands, found->second.bytes, results);
    *errors = difference;
    if (difference.wrong == 0) return "";
    return std::to_string(difference.wrong) + " threads differ, first " + difference.first;
  }

  // All forms of a group as one device records them.
  void record(const forms::Group& group, forms::Recording* recording) {
    for (const forms::Form& form : group.forms()) {
      forms::Results& results = recording->of_form[form.name];
      const std::vector<std::byte> operands = forms::operands_of(form);
      std::string reason;
      results.fingerprint = forms::fingerprint_of(form, operands);
      results.bytes = run(form, operands, &reason);
      results.refused = !reason.empty();
    }
  }

private:
  static constexpr std::uint64_t kOperands = 0x700000000000ull, kResults = 0x700010000000ull;

  struct Reports : Observer {
    void report(const Report& report) override {
      text += "reported at " + report.location.instruction + "; ";
    }
    std::string text;
  };
};

} // namespace gmt::executor
