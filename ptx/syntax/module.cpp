// SPDX-License-Identifier: Apache-2.0
// What a Module answers from its text.
#include <algorithm>
#include <utility>

#include "ptx/syntax/module_data.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {
namespace {

std::size_t width_of(std::string_view directive) {
  const Type type = type_named(directive);
  const bool is_bits =
    type == Type::kB8 || type == Type::kB16 || type == Type::kB32 || type == Type::kB64;
  return is_bits ? size_of(type) : 0;
}

// .b8 95,90,0 and labels. What is damaged ends the names, not the program.
void read_debug_names(Lexer lexer, DebugNames& names) {
  std::size_t width = 1;
  while (!lexer.at_end()) {
    if (lexer.at_identifier()) {
      const std::string_view name = lexer.identifier("a label");
      if (lexer.accept(':')) names.labels.emplace(name, names.bytes.size());
      continue;
    }
    const std::string_view directive = lexer.accept_directive();
    if (!directive.empty()) {
      width = width_of(directive);
      if (width == 0) return;
      continue;
    }
    if (!lexer.at_digit()) {
      if (!lexer.accept(',')) return;
      continue;
    }
    const std::uint64_t value = lexer.integer("a byte");
    for (std::size_t i = 0; i < width; ++i) names.bytes += static_cast<char>(value >> 8 * i);
  }
}

} // namespace

Module::Module(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

std::string_view Module::text() const { return data_->text; }
std::uint32_t Module::version() const { return data_->version; }
std::uint32_t Module::target() const { return data_->target; }
std::string_view Module::target_name() const { return data_->target_name; }
bool Module::debug() const { return data_->debug; }
std::uint32_t Module::address_size() const { return data_->address_size; }
const std::vector<Variable>& Module::variables() const { return data_->variables; }
const std::vector<Function>& Module::functions() const { return data_->functions; }

std::optional<Symbol> Module::find(std::string_view name) const {
  const auto found = data_->names.find(name);
  if (found == data_->names.end()) return std::nullopt;
  return found->second;
}

const Function* Module::find_function(std::string_view name) const {
  const std::optional<Symbol> symbol = find(name);
  const bool is_function = symbol && symbol->kind == SymbolKind::kFunction;
  return is_function ? &data_->functions[symbol->index] : nullptr;
}

const Variable* Module::find_variable(std::string_view name) const {
  const std::optional<Symbol> symbol = find(name);
  const bool is_variable = symbol && symbol->kind == SymbolKind::kVariable;
  return is_variable ? &data_->variables[symbol->index] : nullptr;
}

std::string_view Module::file(std::uint32_t index) const {
  const auto found = data_->files.find(index);
  return found == data_->files.end() ? std::string_view() : found->second;
}

std::string_view Module::debug_name(std::string_view label, std::uint64_t offset) const {
  std::call_once(data_->names_once, [this] {
    try {
      read_debug_names(Lexer(data_->text, data_->names_begin, data_->names_end),
                       data_->debug_names);
    } catch (const ParseError&) { // the names before the damage are good
    }
  });
  const DebugNames& names = data_->debug_names;
  std::size_t at = 0; // ".debug_str" itself is its begin
  if (label != ".debug_str") {
    const auto found = names.labels.find(label);
    if (found == names.labels.end()) return {};
    at = found->second;
  }
  if (offset >= names.bytes.size() - at) return {};
  return names.bytes.data() + at + offset; // std::string ends with a NUL
}

// Each access of a kernel asks for its line: to count them from the text's begin takes longer than
// all else where a text has 10 MB.
std::uint32_t Module::text_line(std::uint32_t offset) const {
  const std::string_view text = data_->text;
  std::vector<std::uint32_t>& begins = data_->line_begins;
  std::call_once(data_->lines_once, [&] {
    begins.push_back(0);
    for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
      begins.push_back(static_cast<std::uint32_t>(at + 1));
  });
  return static_cast<std::uint32_t>(std::ranges::upper_bound(begins, offset) - begins.begin());
}

bool Mnemonic::has(std::string_view modifier) const {
  for (const std::string_view own : modifiers) {
    if (own == modifier) return true;
  }
  return false;
}

Mnemonic mnemonic_of(std::string_view text) {
  Mnemonic mnemonic{text, {}, {}};
  std::string_view rest = text;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t point = rest.find('.');
    std::string_view part = rest.substr(0, point);
    while (!part.empty() && static_cast<unsigned char>(part.back()) <= ' ') part.remove_suffix(1);
    if (first) {
      mnemonic.opcode = part;
    } else {
      mnemonic.modifiers.push_back(part);
    }
    rest = point == std::string_view::npos ? std::string_view() : rest.substr(point + 1);
  }
  return mnemonic;
}

Call call_of(const Body& body, const Instruction& instruction) {
  Call call;
  const Operand* operand = body.begin(instruction);
  const Operand* end = operand + instruction.operand_count;
  if (operand < end && operand->kind == OperandKind::kList) call.returns = operand++;
  if (operand < end) call.target = operand++;
  if (operand < end && operand->kind == OperandKind::kList) call.arguments = operand++;
  if (operand < end) call.prototype = operand++;
  return call;
}

} // namespace gmt::ptx
