// SPDX-License-Identifier: Apache-2.0
// Each line that calls has functions of its own, whose names stand in the place of malloc and free:
// they call those that log, with the line. The text is joined with all of these.
#include "interposer/kernel_checks/library/heap_calls.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/register_limits.h"
#include "ptx/print/join.h"
#include "ptx/syntax/link.h"
#include "ptx/syntax/ptx.h"
#include "trace/device_ring.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::string_view kLoggedCalls =
#include <logged_calls.inc> // made by cmake
  ;
constexpr std::string_view kLogged = "gpumemtrace_logged_"; // before the name
constexpr std::uint32_t kOldest = 70; // .version; of its functions some are not older

bool is_called(const ptx::Module& module, std::string_view name) {
  const ptx::Function* function = module.find_function(name);
  return function != nullptr && !function->has_body;
}

// The words behind a directive of the head, up to the line's end.
void set_line(std::string& text, std::string_view directive, const std::string& words) {
  const std::size_t at = text.find(directive);
  if (at == std::string::npos) return;
  const std::size_t begin = at + directive.size();
  text.replace(begin, text.find('\n', begin) - begin, " " + words);
}

// As a compiler's __FUNCTION__ has it, where it is a plain function.
std::string short_name(std::string_view linked) {
  int status = 0;
  const std::string name(linked);
  const std::unique_ptr<char, decltype(&std::free)> plain(
    abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (plain == nullptr) return name;
  const std::string_view all = plain.get();
  return std::string(all.substr(0, all.find('(')));
}

class CallSites {
public:
  explicit CallSites(const ptx::Module& module)
      : module_(module), callees_(module.functions().size()), logs_(module.functions().size()) {
    for (std::uint32_t i = 0; i < module.functions().size(); ++i) {
      if (module.functions()[i].has_body) visit(i);
    }
    limit_registers();
  }

  // The module's text with the names of functions of its lines.
  std::string named() const {
    std::string text(module_.text());
    for (auto name = names_.rbegin(); name != names_.rend(); ++name)
      text.replace(name->first, name->second.second, name->second.first);
    return text;
  }
  // These functions.
  const std::string& functions() const { return functions_; }

private:
  // Code that logs takes up to 80 registers: a kernel that may be launched with 1,024 threads must
  // have no more than 64.
  void limit_registers() {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (std::size_t i = 0; i < logs_.size(); ++i) {
        const auto does_log = [this](std::uint32_t callee) { return logs_[callee]; };
        if (logs_[i] || std::ranges::none_of(callees_[i], does_log)) continue;
        logs_[i] = has_changed = true;
      }
    }
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      const ptx::Function& function = module_.functions()[i];
      if (function.is_entry && function.has_body && logs_[i] && !has_limit(function))
        names_[function.body_begin - 1] = {"\n.maxnreg 64\n", 0};
    }
  }

  void visit(std::uint32_t index) {
    const ptx::Function& function = module_.functions()[index];
    const ptx::Body body = ptx::parse_body(module_, function);
    for (const ptx::Instruction& instruction : body.instructions) {
      if (body.mnemonic(instruction).opcode != "call") continue;
      const ptx::Operand* target = ptx::call_of(body, instruction).target;
      if (target == nullptr || target->kind != ptx::OperandKind::kFunction) {
        logs_[index] = true; // perhaps
        continue;
      }
      callees_[index].push_back(target->id);
      const std::string_view called = module_.functions()[target->id].name;
      if (called != "malloc" && called != "free") continue;
      logs_[index] = true;
      const std::vector<ptx::SourceFrame> stack = body.lines.stack(module_, instruction.line);
      if (stack.empty() || stack[0].line == 0) continue;
      const std::string_view in = stack[0].function.empty() ? function.name : stack[0].function;
      name_call(instruction, called,
                site(called, {std::string(stack[0].file), stack[0].line, short_name(in)}));
    }
  }

  void name_call(const ptx::Instruction& instruction, std::string_view called,
                 const std::string& name) {
    const std::string_view text =
      module_.text().substr(instruction.text_offset, instruction.text_size);
    const auto is_in_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
    };
    for (std::size_t at = text.find(called); at != std::string_view::npos;
         at = text.find(called, at + 1)) {
      const std::size_t end = at + called.size();
      if ((at > 0 && is_in_name(text[at - 1])) || (end < text.size() && is_in_name(text[end])))
        continue;
      names_[instruction.text_offset + at] = {name, called.size()};
      return;
    }
  }

  using Line = std::tuple<std::string, std::uint32_t, std::string>; // file, line, function

  std::string site(std::string_view called, const Line& line) {
    const auto key = std::pair(std::string(called), line);
    const auto [found, is_new] = sites_.try_emplace(key, sites_.size());
    std::string name = std::string(kLogged) + std::string(called) + std::to_string(found->second);
    if (!is_new) return name;
    const auto& [file, number, function] = line;
    const std::string result = called == "malloc" ? "(.param .b64 result) " : "";
    const std::string file_text = constant(file), function_text = constant(function);
    functions_ += ".visible .func " + result + name + "(.param .b64 argument)\n{\n" +
                  ".reg .b64 %d<5>;\n.reg .b32 %r<2>;\n.param .b64 a;\n.param .b64 b;\n"
                  ".param .b32 c;\n.param .b64 d;\n.param .b64 e;\n"
                  "ld.param.b64 %d1, [argument];\nst.param.b64 [a], %d1;\n" +
                  "mov.u64 %d2, " + file_text + ";\ncvta.global.u64 %d2, %d2;\n" +
                  "st.param.b64 [b], %d2;\nmov.u32 %r1, " + std::to_string(number) +
                  ";\nst.param.b32 [c], %r1;\nmov.u64 %d3, " + function_text +
                  ";\ncvta.global.u64 %d3, %d3;\nst.param.b64 [d], %d3;\ncall " +
                  (result.empty() ? "" : "(e), ") + std::string(kLogged) + std::string(called) +
                  "_at, (a, b, c, d);\n" +
                  (result.empty() ? "" : "ld.param.b64 %d4, [e];\nst.param.b64 [result], %d4;\n") +
                  "ret;\n}\n";
    return name;
  }

  // The name of a variable with this text.
  std::string constant(const std::string& text) {
    const auto [found, is_new] = constants_.try_emplace(text, constants_.size());
    std::string name(kLogged);
    name += "text";
    name += std::to_string(found->second);
    if (!is_new) return name;
    functions_ += ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {";
    for (const char c : text) functions_ += std::to_string(static_cast<unsigned char>(c)) + ", ";
    functions_ += "0};\n";
    return name;
  }

  const ptx::Module& module_;
  std::vector<std::vector<std::uint32_t>> callees_; // by function
  std::vector<bool> logs_;
  std::map<std::size_t, std::pair<std::string, std::size_t>> names_; // by offset: new text, old
                                                                     // size
  std::map<std::pair<std::string, Line>, std::size_t> sites_;
  std::map<std::string, std::size_t> constants_;
  std::string functions_;
};

} // namespace

std::string with_logged_heap(std::string text, HeapUse& use) {
  const ptx::Module module = ptx::parse_module(text);
  const bool is_used = is_called(module, "malloc") || is_called(module, "free");
  const bool is_aligned = is_called(module, "__cuda_syscall_aligned_malloc") ||
                          is_called(module, "__nv_aligned_device_malloc");
  use = is_used || is_aligned ? HeapUse::kUnmarked : HeapUse::kNone;
  const bool is_logged = module.find_variable(trace::kControlSymbol) != nullptr;
  if (!is_used || is_logged || module.debug() || module.version() < kOldest || module.target() < 75)
    return text;
  const CallSites sites(module);
  std::string logged = std::string(kLoggedCalls) + sites.functions();
  set_line(logged, "\n.version",
           std::to_string(module.version() / 10) + "." + std::to_string(module.version() % 10));
  set_line(logged, "\n.target", std::string(module.target_name()));
  std::vector<ptx::ModuleText> both(2);
  both[0].text = sites.named();
  for (const std::string name : {"malloc", "free"})
    both[0].new_names[name] = std::string(kLogged) + name;
  both[1].text = std::move(logged);
  try {
    std::string joined = ptx::join_modules(both);
    if (!is_aligned) use = HeapUse::kMarked;
    return joined;
  } catch (const ptx::LinkError&) { // such as by debug information: checks go without the log
    return text;
  }
}

} // namespace gmt::interposer::kernel_checks
