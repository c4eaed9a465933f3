// SPDX-License-Identifier: Apache-2.0
// Operands. Parts of one stand in the body before it; those of an instruction stand together.
#include "ptx/syntax/operands.h"

#include "ptx/syntax/tokens/expression.h"

namespace gmt::ptx {
namespace {

constexpr int kDeepestOperand = 4; // [tex, {x, y}] needs two
constexpr std::size_t kMostParts = 65535;

// .x and .r are the first component.
std::uint32_t component_number(std::string_view component) {
  static constexpr std::string_view kNames[] = {".x.r", ".y.g", ".z.b", ".w.a"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (component.size() == 2 && kNames[i].find(component) != std::string_view::npos) return i;
  }
  return kNone;
}

// "vadd", "vset4" and their like, whose operands may be parts of registers; "vote" is none.
bool is_video(std::string_view opcode) {
  return opcode.starts_with('v') && opcode != "vote" && opcode != "vprintf";
}

// "b3", "h10": bytes and halves, the highest first.
bool names_parts(std::string_view component) {
  const bool are_bytes = component[0] == 'b';
  if (!are_bytes && component[0] != 'h') return false;
  const std::string_view digits = component.substr(1);
  return !digits.empty() && digits.size() <= (are_bytes ? 4u : 2u) &&
         digits.find_first_not_of(are_bytes ? "01234567" : "0123") == std::string_view::npos;
}

} // namespace

void Operands::parse(Instruction& instruction, std::string_view opcode) {
  const bool is_call = opcode == "call";
  is_video_ = is_video(opcode);
  pending_.clear();
  if (lexer_.peek() != ';' && !lexer_.at_end()) {
    do {
      const bool is_list = is_call && lexer_.accept('(');
      pending_.push_back(is_list ? list(OperandKind::kList, ')', 0) : operand(0));
    } while (lexer_.accept(','));
  }
  if (pending_.size() > kMostParts) lexer_.fail("an instruction of too many operands");
  instruction.operand_count = static_cast<std::uint16_t>(pending_.size());
  instruction.first_operand = static_cast<std::uint32_t>(body_.operands.size());
  body_.operands.insert(body_.operands.end(), pending_.begin(), pending_.end());
}

// Moves what is pending from `base` on into the body.
Operand Operands::in_parts(OperandKind kind, std::size_t base) {
  if (pending_.size() - base > kMostParts) lexer_.fail("a list that is too long");
  Operand result;
  result.kind = kind;
  result.count = static_cast<std::uint16_t>(pending_.size() - base);
  result.id = static_cast<std::uint32_t>(body_.operands.size());
  const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(base);
  body_.operands.insert(body_.operands.end(), first, pending_.end());
  pending_.resize(base);
  return result;
}

Operand Operands::operand(int depth) {
  if (depth > kDeepestOperand) lexer_.fail("operands that are nested too deeply");
  const Operand first = simple(depth);
  if (!lexer_.accept('|')) return first;
  const std::size_t base = pending_.size();
  pending_.push_back(first);
  pending_.push_back(simple(depth + 1));
  return in_parts(OperandKind::kPair, base);
}

Operand Operands::simple(int depth) {
  if (lexer_.accept('{')) return list(OperandKind::kVector, '}', depth + 1);
  if (lexer_.accept('[')) return address(depth + 1);
  if (lexer_.at_identifier()) return name();
  if (lexer_.peek() == '!') {
    lexer_.accept('!');
    if (!lexer_.at_identifier()) {
      Operand operand = constant();
      operand.bits = operand.bits == 0 ? 1 : 0;
      return operand;
    }
    Operand operand = name();
    if (operand.kind != OperandKind::kRegister) lexer_.fail("'!' before what is no register");
    operand.negated = true;
    return operand;
  }
  if (!at_expression(lexer_)) lexer_.fail_expected("an operand");
  if (is_video_ && lexer_.peek() == '-' && lexer_.peek_second() == '%') return negative_register();
  return constant();
}

Operand Operands::negative_register() {
  lexer_.accept('-');
  Operand operand = name();
  if (operand.kind != OperandKind::kRegister) lexer_.fail("'-' before what is no register");
  operand.negated = true;
  return operand;
}

// ".b3210" behind a register: its letters are the operand's bits.
void Operands::read_parts(Operand& operand) {
  std::string_view component = lexer_.component();
  if (component.empty()) return;
  component.remove_prefix(1);
  if (!names_parts(component)) lexer_.fail("a register that has no " + quoted(component));
  for (std::size_t i = component.size(); i-- > 0;)
    operand.bits = operand.bits << 8 | static_cast<unsigned char>(component[i]);
}

Operand Operands::constant() {
  const Literal literal = parse_expression(lexer_);
  Operand operand;
  operand.kind = OperandKind::kImmediate;
  operand.number = literal.number;
  operand.bits = literal.bits;
  return operand;
}

Operand Operands::list(OperandKind kind, char end, int depth) {
  const std::size_t base = pending_.size();
  if (!lexer_.accept(end)) {
    do {
      const Operand part = operand(depth + 1);
      pending_.push_back(part);
    } while (lexer_.accept(','));
    lexer_.expect(end, "or ',' in a list of operands");
  }
  return in_parts(kind, base);
}

Operand Operands::address(int depth) {
  const std::size_t base = pending_.size();
  do {
    Operand part = operand(depth + 1);
    if (pending_.size() == base) add_offset(part);
    pending_.push_back(part);
  } while (lexer_.accept(','));
  lexer_.expect(']', "of an address");
  return in_parts(OperandKind::kAddress, base);
}

// "+8", "+-8", "-8" behind a register or a name. A name by itself has read its own already.
void Operands::add_offset(Operand& operand) {
  std::uint64_t offset = 0;
  if (lexer_.accept('+')) {
    offset = parse_integer_expression(lexer_);
  } else if (lexer_.peek() == '-') {
    offset = parse_integer_expression(lexer_);
  } else {
    return;
  }
  operand.bits += offset;
  operand.has_offset = true;
}

Operand Operands::name() {
  const std::size_t offset = lexer_.offset();
  const std::string_view name = lexer_.identifier("an operand");
  Operand operand;
  if (name == "_") return operand;
  RegisterUse use;
  if (names_.find_register(name, use)) {
    if (names_.declaration(use.declaration).vector > 1) return vector_register(use, name);
    operand.kind = OperandKind::kRegister;
    operand.id = names_.number_of(use, 0, name, body_.registers);
    if (is_video_) read_parts(operand);
    return operand;
  }
  if (const Name* found = names_.find(name)) {
    if (found->kind == NameKind::kRegister)
      lexer_.fail_at(offset, quoted(name) + " needs a number");
    return local(*found);
  }
  if (name[0] == '%' || name == "WARP_SZ") return special_register(name, offset);
  if (const std::optional<Symbol> symbol = module_.find(name)) {
    const bool is_function = symbol->kind == SymbolKind::kFunction;
    operand.kind = is_function ? OperandKind::kFunction : OperandKind::kVariable;
    operand.id = symbol->index;
    if (!is_function) add_offset(operand);
    return operand;
  }
  operand.kind = OperandKind::kLabel;
  operand.id = refer(name, offset);
  return operand;
}

Operand Operands::local(const Name& found) {
  Operand operand;
  operand.id = found.index;
  switch (found.kind) {
  case NameKind::kParameter: operand.kind = OperandKind::kParameter; break;
  case NameKind::kReturn: operand.kind = OperandKind::kReturn; break;
  default: operand.kind = OperandKind::kLocal;
  }
  add_offset(operand);
  return operand;
}

Operand Operands::vector_register(const RegisterUse& use, std::string_view name) {
  const std::uint32_t width = names_.declaration(use.declaration).vector;
  Operand part;
  part.kind = OperandKind::kRegister;
  const std::string_view component = lexer_.component();
  if (!component.empty()) {
    const std::uint32_t number = component_number(component);
    if (number >= width) lexer_.fail(quoted(name) + " has no component " + quoted(component));
    part.id = names_.number_of(use, number, name, body_.registers);
    return part;
  }
  const std::size_t base = pending_.size();
  for (std::uint32_t i = 0; i < width; ++i) {
    part.id = names_.number_of(use, i, name, body_.registers);
    pending_.push_back(part);
  }
  return in_parts(OperandKind::kVector, base);
}

Operand Operands::special_register(std::string_view name, std::size_t offset) {
  const std::size_t behind = lexer_.offset();
  const std::string_view component = lexer_.component();
  const std::string_view whole =
    component.empty() ? name : lexer_.between(offset, behind + component.size());
  SpecialRegister special{};
  if (!find_special(whole, special))
    lexer_.fail_at(offset, "the register " + quoted(whole) + " is not declared");
  Operand operand;
  operand.kind = OperandKind::kSpecial;
  operand.id = static_cast<std::uint32_t>(special);
  return operand;
}

std::uint32_t Operands::register_named(std::string_view name, std::size_t offset) {
  RegisterUse use;
  const bool found = names_.find_register(name, use);
  if (!found || names_.declaration(use.declaration).vector > 1) {
    lexer_.fail_at(offset, "the register " + quoted(name) + " is not declared");
  }
  return names_.number_of(use, 0, name, body_.registers);
}

std::uint32_t Operands::refer(std::string_view name, std::size_t offset) {
  references_.push_back({name, static_cast<std::uint32_t>(offset)});
  return static_cast<std::uint32_t>(references_.size() - 1);
}

} // namespace gmt::ptx
