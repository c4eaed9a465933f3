// SPDX-License-Identifier: Apache-2.0
// Modules, and run(). Exceptions of reading and decoding end here, as texts.
#include "simulated_cuda/executor/executor.h"

#include "ptx/syntax/link.h"
#include "simulated_cuda/executor/checks/launch_reports.h"
#include "simulated_cuda/executor/checks/reports.h"
#include "simulated_cuda/executor/machine/count_traffic.h"
#include "simulated_cuda/executor/machine/grid.h"
#include "simulated_cuda/executor/machine/primary_launch.h"
#include "simulated_cuda/executor/machine/tracking/twin.h"
#include "simulated_cuda/executor/program/device_functions.h"
#include "simulated_cuda/executor/program/program.h"
#include "simulated_cuda/executor/program/tracking.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

namespace gmt::executor {
namespace {

class LoadedModule final : public Module, public Addresses {
public:
  explicit LoadedModule(ptx::Linked linked) : linked_(std::move(linked)) {
    for (std::uint32_t i = 0; i < linked_.functions().size(); ++i) add_kernel(i);
    for (std::uint32_t i = 0; i < linked_.variables().size(); ++i) add_variable(i);
    for (std::size_t i = 0; i < kernels_.size(); ++i) kernel_of_[kernels_[i].name] = i;
    has_sizes_.resize(kernels_.size());
    for (Kernel& kernel : kernels_) kernel.constant_bytes = constant_bytes_;
    for (std::uint32_t i = 0; i < linked_.module_count(); ++i)
      target_ = std::max(target_, linked_.module(i).target());
  }

  const std::vector<Kernel>& kernels() const override { return kernels_; }

  // With the sizes that only the kernel's code tells.
  const Kernel* with_sizes(std::string_view name) {
    const auto found = kernel_of_.find(name);
    if (found == kernel_of_.end()) return nullptr;
    Kernel& kernel = kernels_[found->second];
    if (has_sizes_[found->second]) return &kernel;
    has_sizes_[found->second] = true;
    try {
      const Program& code = program(kernel);
      for (const SharedVariable& variable : code.shared) {
        if (variable.is_dynamic || variable.is_reserved) continue;
        kernel.shared_bytes = (kernel.shared_bytes + 15) / 16 * 16 + variable.bytes;
      }
      kernel.local_bytes = code.functions.front()->local_bytes;
    } catch (const std::exception&) { // examine() says what is wrong
    }
    return &kernel;
  }

  const std::vector<Variable>& variables() const override { return variables_; }
  unsigned target() const override { return target_; }

  void set_address(std::size_t variable, std::uint64_t address) override {
    if (variable < variables_.size()) addresses_[linked_of_[variable]] = address;
    programs_.clear(); // their constants hold addresses
    plans_.clear();
  }

  std::vector<std::byte> initial_bytes(std::size_t variable) const override {
    if (variable >= variables_.size()) return {};
    const ptx::LinkedVariable& linked = linked_.variables()[linked_of_[variable]];
    const ptx::Variable& syntax = *linked.variable;
    std::vector<std::byte> bytes(syntax.size);
    if (!syntax.initial.empty())
      std::memcpy(bytes.data(), syntax.initial.data(),
                  std::min(syntax.initial.size(), bytes.size()));
    for (const ptx::SymbolAddress& each : syntax.addresses) {
      const auto symbol = linked_.find(linked.module, each.symbol);
      if (!symbol || each.at + each.size > bytes.size()) continue;
      std::uint64_t value = symbol->kind == ptx::SymbolKind::kVariable ? of_variable(symbol->index)
                                                                       : of_function(symbol->index);
      value += static_cast<std::uint64_t>(each.addend);
      if (each.mask != ~0ull && each.mask != 0)
        value = (value & each.mask) >> __builtin_ctzll(each.mask);
      std::memcpy(bytes.data() + each.at, &value, std::min<std::size_t>(each.size, sizeof value));
    }
    return bytes;
  }

  std::uint64_t of_variable(std::uint32_t linked) const override {
    const auto found = addresses_.find(linked);
    return found == addresses_.end() ? 0 : found->second;
  }
  std::uint64_t of_function(std::uint32_t linked) const override {
    return kFunctionWindow + std::uint64_t{linked} * 16;
  }

  enum class Form : std::uint8_t {
    kPlain,
    kTracked, // with tracked registers
    kTwin,    // the same, for warps that begin with kPlain
  };
  // Decoded and bound at the first launch that needs it.
  Program& program(const Kernel& kernel, Form form = Form::kPlain, bool counts_traffic = false) {
    auto& made = programs_[{kernel.name, form, counts_traffic}];
    if (!made) {
      const auto symbol = linked_.find(kernel.name); // every kernel here is found by its name
      made = decode(linked_, symbol->index, *this);
      if (form != Form::kPlain) track_registers(*made);
      bind(*made);
      if (counts_traffic) plans_[made.get()] = plan_traffic(*made);
    }
    return *made;
  }
  // Null if it cannot be executed. Called while the kernel runs.
  const Program* twin(const Kernel& kernel, const Program& plain) {
    Program& tracked = program(kernel, Form::kTwin, plans_.contains(&plain));
    return make_twin(tracked, plain) ? &tracked : nullptr;
  }

  const TrafficPlan& plan_of(const Program& program) const { return plans_.at(&program); }

  std::weak_ptr<const void> loaded() const { return loaded_; } // expires with the module

private:
  void add_kernel(std::uint32_t index) {
    const ptx::LinkedFunction& linked = linked_.functions()[index];
    const ptx::Function& function = *linked.function;
    if (!function.is_entry || !is_meant({ptx::SymbolKind::kFunction, index}, function.name)) return;
    Kernel kernel;
    kernel.name = function.name;
    std::vector<std::uint32_t> offsets;
    kernel.parameter_bytes = lay_out_parameters(function.parameters, &offsets);
    for (std::size_t i = 0; i < offsets.size(); ++i)
      kernel.parameters.push_back({offsets[i], function.parameters[i].size});
    const auto product = [](const std::uint32_t(&n)[3]) {
      return n[0] * std::max(n[1], 1u) * std::max(n[2], 1u);
    };
    kernel.max_threads = product(function.max_threads);
    if (function.required_threads[0] != 0) {
      kernel.max_threads = product(function.required_threads);
      kernel.required_block = {function.required_threads[0],
                               std::max(function.required_threads[1], 1u),
                               std::max(function.required_threads[2], 1u)};
    }
    const auto& cluster = function.required_cluster;
    if (cluster[0] != 0)
      kernel.required_cluster = {cluster[0], std::max(cluster[1], 1u), std::max(cluster[2], 1u)};
    kernels_.push_back(kernel);
  }

  // Whether who asks for the name from outside gets this symbol.
  bool is_meant(ptx::Symbol symbol, std::string_view name) const {
    const auto found = linked_.find(name);
    return found && found->kind == symbol.kind && found->index == symbol.index;
  }

  void add_variable(std::uint32_t index) {
    const ptx::Variable& syntax = *linked_.variables()[index].variable;
    if (syntax.space != ptx::Space::kGlobal && syntax.space != ptx::Space::kConst) return;
    Variable variable;
    variable.name = syntax.name;
    variable.size = syntax.size;
    variable.alignment = syntax.alignment;
    variable.constant = syntax.space == ptx::Space::kConst;
    variable.managed = syntax.managed;
    variable.is_named = is_meant({ptx::SymbolKind::kVariable, index}, syntax.name);
    variable.has_initial = !syntax.initial.empty() || !syntax.addresses.empty();
    if (variable.constant) constant_bytes_ += variable.size;
    variables_.push_back(variable);
    linked_of_.push_back(index);
  }

  ptx::Linked linked_;
  std::vector<Kernel> kernels_;
  std::map<std::string_view, std::size_t> kernel_of_; // names lie in kernels_
  std::vector<bool> has_sizes_;
  std::size_t constant_bytes_ = 0;
  std::vector<Variable> variables_;
  std::vector<std::uint32_t> linked_of_; // of variables_
  std::map<std::uint32_t, std::uint64_t> addresses_;
  std::map<std::tuple<std::string, Form, bool>, std::unique_ptr<Program>> programs_;
  std::map<const Program*, TrafficPlan> plans_; // of programs that count
  unsigned target_ = 0;
  std::shared_ptr<const void> loaded_ = std::make_shared<char>();
};

std::string refusal(const Launch& launch) {
  if (launch.grid.count() == 0 || launch.block.count() == 0 || launch.block.count() > 1024)
    return "a grid or a block of an impossible size";
  const Extent& cluster = launch.cluster;
  if (cluster.count() == 0 || cluster.count() > 16)
    return "clusters of another number of blocks than 1 to 16";
  if (launch.grid.x % cluster.x != 0 || launch.grid.y % cluster.y != 0 ||
      launch.grid.z % cluster.z != 0)
    return "a grid that is no multiple of its clusters";
  if (launch.dynamic_shared_bytes > (std::uint64_t{1} << 20))
    return "more shared memory than a block can have";
  if (launch.parameters.size() < launch.kernel->parameter_bytes)
    return "its parameters are fewer bytes than the kernel declares";
  return "";
}

} // namespace

std::unique_ptr<Module> Module::load(std::span<const std::string_view> texts, std::string* error) {
  try {
    std::vector<std::shared_ptr<const ptx::Module>> modules;
    for (const std::string_view text : texts)
      modules.push_back(std::make_shared<ptx::Module>(ptx::parse_module(std::string(text))));
    return std::make_unique<LoadedModule>(
      ptx::Linked::link(std::move(modules), [](std::string_view) {
        return true; // a missing function is an error of the kernel that calls it alone
      }));
  } catch (const std::exception& bad) {
    *error = bad.what();
    return nullptr;
  }
}

const Kernel* Module::find_kernel(std::string_view name) {
  return static_cast<LoadedModule*>(this)->with_sizes(name);
}

Ability examine(Module& module, const Kernel& kernel) {
  Ability ability;
  try {
    Program& program = static_cast<LoadedModule&>(module).program(kernel);
    const Unsupported& unsupported = program.unsupported;
    ability.reason = unsupported.reason;
    if (!ability.reason.empty())
      ability.location = location_of(*program.functions[unsupported.code], unsupported.source);
    ability.uses_heap = program.uses_heap;
    ability.uses_printf = program.uses_printf;
    ability.uses_grid_sync = program.uses_grid_sync;
    ability.launches_kernels =
      std::ranges::find(program.forms, kCallOfDeviceRuntime) != program.forms.end();
    ability.writes_surfaces = std::ranges::any_of(
      program.forms, [](const std::string& form) { return form == "sust" || form == "sured"; });
  } catch (const std::exception& bad) {
    ability.reason = bad.what();
    ability.location.function = kernel.name;
  }
  return ability;
}

bool written_pointers(const Launch& launch, std::vector<std::uint64_t>* pointers) {
  pointers->clear();
  try {
    const Program& program = static_cast<LoadedModule&>(*launch.module).program(*launch.kernel);
    for (const std::uint32_t offset : program.written_through) {
      std::uint64_t pointer = 0;
      if (offset + sizeof pointer > launch.parameters.size()) return false;
      std::memcpy(&pointer, launch.parameters.data() + offset, sizeof pointer);
      pointers->push_back(pointer);
    }
    return !program.writes_elsewhere;
  } catch (const std::exception&) { // examine() says what is wrong
    return false;
  }
}

Outcome run(const Launch& given, Observer& observer) {
  Launch launch = given;
  if (!launch.has_clusters && launch.kernel->required_cluster.count() != 0) {
    launch.cluster = launch.kernel->required_cluster;
    launch.has_clusters = true;
  }
  Outcome outcome;
  outcome.end = End::kSkipped;
  const Ability ability = examine(*launch.module, *launch.kernel);
  outcome.reason = ability.reason.empty() ? refusal(launch) : ability.reason;
  outcome.location = ability.location;
  if (!outcome.reason.empty()) return outcome;
  try {
    auto& module = static_cast<LoadedModule&>(*launch.module);
    using Form = LoadedModule::Form;
    Program& program =
      module.program(*launch.kernel, launch.checks == Checks::kFull ? Form::kTracked : Form::kPlain,
                     launch.traffic != nullptr);
    if (!program.unsupported.reason.empty()) { // of what tracks registers
      outcome.reason = program.unsupported.reason;
      return outcome;
    }
    TrafficCounter counter;
    if (launch.traffic != nullptr) {
      counter.add(module.plan_of(program));
      launch.counter = &counter;
    }
    LaunchReports reports(program, launch, observer);
    TrackedTwin twin([&] {
      const Program* tracked = module.twin(*launch.kernel, program);
      if (tracked != nullptr && launch.traffic != nullptr) counter.add(module.plan_of(*tracked));
      return tracked;
    });
    outcome = run_grid(launch, program, twin, reports, observer);
    if (launch.becomes_primary != nullptr && *launch.becomes_primary != nullptr)
      (*launch.becomes_primary)->module = module.loaded();
    if (launch.traffic != nullptr) {
      counter.collect(program, module.plan_of(program), *launch.traffic);
      launch.traffic->lines = [&program](std::size_t function, std::uint32_t number) {
        return location_of(*program.functions[function], number).lines;
      };
    }
  } catch (const std::exception& bad) { // no memory
    outcome.end = End::kStopped;
    outcome.reason = bad.what();
  }
  return outcome;
}

} // namespace gmt::executor
