// SPDX-License-Identifier: Apache-2.0
// Reads the code of one function: its statements, scopes and labels.
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "ptx/syntax/declarations.h"
#include "ptx/syntax/labels.h"
#include "ptx/syntax/names.h"
#include "ptx/syntax/operands.h"
#include "ptx/syntax/tokens/expression.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {
namespace {

class BodyParser {
public:
  BodyParser(const Module& module, const Function& function)
      : module_(module), function_(function),
        lexer_(module.text(), function.body_begin, function.body_end),
        operands_(lexer_, module, body_, names_), labels_(operands_.references()) {}

  Body parse() {
    const std::size_t bytes = function_.body_end - function_.body_begin;
    body_.instructions.reserve(bytes / 48);
    body_.operands.reserve(bytes / 16);
    open_scope();
    declare_parameters(function_.returns, NameKind::kReturn, body_.return_registers);
    declare_parameters(function_.parameters, NameKind::kParameter, body_.parameter_registers);
    while (!lexer_.at_end()) statement();
    if (names_.depth() > 1) lexer_.fail_expected("'}'");
    close_scope();
    if (const Reference* unknown = labels_.unknown()) {
      lexer_.fail_at(unknown->text_offset, quoted(unknown->name) + " is not declared");
    }
    resolve();
    return std::move(body_);
  }

private:
  void declare_parameters(const std::vector<Variable>& variables, NameKind kind,
                          std::vector<std::uint32_t>& registers) {
    registers.assign(variables.size(), kNone);
    for (std::uint32_t i = 0; i < variables.size(); ++i) {
      const Variable& variable = variables[i];
      if (variable.name == "_") continue;
      if (variable.space != Space::kRegister) {
        if (!names_.declare(variable.name, {kind, i}))
          fail_duplicate(variable.text_offset, variable.name);
        continue;
      }
      if (variable.vector > 1)
        lexer_.fail_at(variable.text_offset, "a parameter in a vector register");
      declare_registers(variable, kNone);
      registers[i] = operands_.register_named(variable.name, variable.text_offset);
    }
  }

  [[noreturn]] void fail_duplicate(std::size_t offset, std::string_view name) {
    lexer_.fail_at(offset, quoted(name) + " is declared more than once");
  }

  void open_scope() {
    if (names_.depth() >= Names::kDeepest) lexer_.fail("scopes that are nested too deeply");
    names_.open_scope();
    labels_.open();
  }

  void close_scope() {
    labels_.close();
    names_.close_scope();
  }

  void statement() {
    if (lexer_.at_identifier()) {
      label_or_instruction();
    } else if (lexer_.peek() == '@') {
      guarded();
    } else if (lexer_.accept('{')) {
      open_scope();
      add_statement(StatementKind::kOpen, kNone);
    } else if (lexer_.accept('}')) {
      if (names_.depth() < 2) lexer_.fail("a \"}\" that has no \"{\"");
      close_scope();
      add_statement(StatementKind::kClose, kNone);
    } else if (!lexer_.accept(';')) {
      const std::size_t begin = lexer_.offset();
      const std::string_view directive = lexer_.accept_directive();
      if (directive.empty()) lexer_.fail_expected("an instruction");
      parse_directive(begin, directive);
    }
  }

  void add_statement(StatementKind kind, std::size_t id) {
    body_.statements.push_back({kind, static_cast<std::uint32_t>(id),
                                static_cast<std::uint32_t>(body_.instructions.size())});
  }

  void parse_directive(std::size_t begin, std::string_view directive) {
    if (directive == "loc") {
      parse_loc();
      return;
    }
    if (directive == "pragma") {
      do {
        add_statement(StatementKind::kPragma, body_.pragmas.size());
        body_.pragmas.push_back(lexer_.string("a string behind .pragma"));
      } while (lexer_.accept(','));
      lexer_.expect(';', "behind .pragma");
      return;
    }
    if (directive == "file") {
      lexer_.fail_at(begin, ".file inside a function");
    }
    const Space space = declared_space(directive);
    switch (space) {
    case Space::kRegister: parse_registers(); break;
    case Space::kLocal:
    case Space::kShared:
    case Space::kParam: parse_variables(space); break;
    case Space::kGlobal:
    case Space::kConst:
      lexer_.fail_at(begin, "a variable of the whole module is declared inside a function");
    default:
      lexer_.fail_at(begin, "expected an instruction, found '." + std::string(directive) + "'");
    }
  }

  void parse_loc() {
    SourceLine line = position();
    std::optional<SourceLine> call;
    while (lexer_.accept(',')) {
      const std::string_view word = lexer_.identifier("function_name or inlined_at");
      if (word == "function_name") {
        const bool is_section = lexer_.accept_directive("debug_str");
        line.function_label = is_section ? ".debug_str" : lexer_.identifier("a label");
        if (lexer_.accept('+')) line.function_offset = lexer_.integer("an offset");
      } else if (word == "inlined_at") {
        call = position();
      } else {
        lexer_.fail("expected function_name or inlined_at, found " + quoted(word));
      }
    }
    if (call) line.inlined_at = body_.lines.find_or_add(*call); // it may have no .loc itself
    line_ = body_.lines.add(line);
    add_statement(StatementKind::kLine, line_);
  }

  SourceLine position() {
    SourceLine line;
    line.file = lexer_.integer32("the number of a file");
    line.line = lexer_.integer32("a line");
    line.column = lexer_.integer32("a column");
    return line;
  }

  void parse_registers() {
    const TypeOfVariable type = parse_type_of_variable(lexer_, Space::kRegister);
    do {
      Variable variable = type.variable;
      lexer_.peek();
      variable.text_offset = static_cast<std::uint32_t>(lexer_.offset());
      variable.name = lexer_.identifier("the name of a register");
      std::uint32_t count = kNone;
      if (lexer_.accept('<')) {
        count = lexer_.integer32("how many registers");
        if (count > 1u << 29) lexer_.fail("too many registers");
        lexer_.expect('>', "behind the number of registers");
      }
      add_statement(StatementKind::kRegisters, body_.declarations.size());
      body_.declarations.push_back(declare_registers(variable, count));
    } while (lexer_.accept(','));
    lexer_.expect(';', "behind registers");
  }

  RegisterDeclaration declare_registers(const Variable& variable, std::uint32_t count) {
    const RegisterDeclaration declaration{variable.name, variable.type, variable.vector, count};
    if (!names_.declare(declaration)) fail_duplicate(variable.text_offset, variable.name);
    return declaration;
  }

  void parse_variables(Space space) {
    const TypeOfVariable type = parse_type_of_variable(lexer_, space);
    do {
      Variable variable = parse_variable(lexer_, type, nullptr);
      const auto index = static_cast<std::uint32_t>(body_.variables.size());
      if (!names_.declare(variable.name, {NameKind::kLocal, index})) {
        fail_duplicate(variable.text_offset, variable.name);
      }
      add_statement(StatementKind::kVariable, index);
      body_.variables.push_back(std::move(variable));
    } while (lexer_.accept(','));
    lexer_.expect(';', "behind a variable");
  }

  void label_or_instruction() {
    const std::size_t begin = lexer_.offset();
    const std::string_view word = lexer_.mnemonic();
    if (lexer_.peek() == ':') {
      lexer_.accept(':');
      label(begin, word);
    } else {
      Instruction instruction;
      instruction_behind(instruction, begin, word);
    }
  }

  void guarded() {
    const std::size_t begin = lexer_.offset();
    lexer_.accept('@');
    Instruction instruction;
    instruction.guard_negated = lexer_.accept('!');
    lexer_.peek();
    const std::size_t offset = lexer_.offset();
    instruction.guard = operands_.register_named(lexer_.identifier("a predicate"), offset);
    if (body_.registers[instruction.guard].type != Type::kPred) {
      lexer_.fail_at(offset, "a guard that is no predicate");
    }
    instruction_behind(instruction, begin, lexer_.mnemonic());
  }

  void instruction_behind(Instruction& instruction, std::size_t begin, std::string_view mnemonic) {
    instruction.mnemonic = mnemonic_number(mnemonic);
    instruction.line = line_;
    instruction.text_offset = static_cast<std::uint32_t>(begin);
    operands_.parse(instruction, body_.mnemonics[instruction.mnemonic].opcode);
    instruction.text_size = static_cast<std::uint32_t>(lexer_.offset() - begin);
    lexer_.expect(';', "behind the operands of '" + std::string(mnemonic) + "'");
    body_.instructions.push_back(instruction);
  }

  std::uint32_t mnemonic_number(std::string_view text) {
    const auto next = static_cast<std::uint32_t>(body_.mnemonics.size());
    const auto [found, is_new] = mnemonic_numbers_.try_emplace(text, next);
    if (!is_new) return found->second;
    body_.mnemonics.push_back(mnemonic_of(text));
    return next;
  }

  void label(std::size_t begin, std::string_view name) {
    if (name.find_first_of(".:") != std::string_view::npos)
      lexer_.fail_at(begin, quoted(name) + " is no name of a label");
    if (lexer_.accept_directive("callprototype")) {
      define(begin, name, OperandKind::kPrototype, StatementKind::kPrototype,
             body_.prototypes.size());
      parse_prototype(name);
    } else if (lexer_.accept_directive("branchtargets")) {
      define(begin, name, OperandKind::kTable, StatementKind::kTable, body_.tables.size());
      parse_table(name, true);
    } else if (lexer_.accept_directive("calltargets")) {
      define(begin, name, OperandKind::kTable, StatementKind::kTable, body_.tables.size());
      parse_table(name, false);
    } else {
      define(begin, name, OperandKind::kLabel, StatementKind::kLabel, body_.labels.size());
      body_.labels.push_back({name, static_cast<std::uint32_t>(body_.instructions.size())});
    }
  }

  void define(std::size_t begin, std::string_view name, OperandKind kind, StatementKind statement,
              std::size_t id) {
    if (!labels_.define(name, kind, id)) fail_duplicate(begin, name);
    add_statement(statement, id);
  }

  void parse_prototype(std::string_view name) {
    Prototype prototype;
    prototype.name = name;
    if (lexer_.accept('(')) prototype.returns = parse_parameters(lexer_);
    lexer_.identifier("'_' of a prototype");
    if (lexer_.accept('(')) prototype.parameters = parse_parameters(lexer_);
    for (;;) {
      const std::string_view directive = lexer_.accept_directive();
      if (directive.empty()) break;
      std::optional<std::uint64_t> value;
      if (lexer_.at_digit()) value = lexer_.integer("a number");
      if (directive == "noreturn") {
        prototype.noreturn = true;
      } else {
        prototype.others.push_back({directive, value});
      }
    }
    lexer_.expect(';', "behind a prototype");
    body_.prototypes.push_back(std::move(prototype));
  }

  void parse_table(std::string_view name, bool of_labels) {
    Table table{name, of_labels, {}};
    do {
      lexer_.peek();
      const std::size_t offset = lexer_.offset();
      const std::string_view target = lexer_.identifier("a target");
      const std::optional<Symbol> symbol = of_labels ? std::nullopt : module_.find(target);
      if (of_labels) {
        table.targets.push_back(operands_.refer(target, offset));
      } else if (symbol && symbol->kind == SymbolKind::kFunction) {
        table.targets.push_back(symbol->index);
      } else {
        lexer_.fail_at(offset, quoted(target) + " is not declared as a function");
      }
    } while (lexer_.accept(','));
    lexer_.expect(';', "behind a table");
    body_.tables.push_back(std::move(table));
  }

  // Numbers of references become what they turned out to be.
  void resolve() {
    const std::vector<Reference>& references = operands_.references();
    for (Operand& operand : body_.operands) {
      if (operand.kind != OperandKind::kLabel) continue;
      const Reference& reference = references[operand.id];
      operand.kind = reference.kind;
      operand.id = reference.id;
    }
    for (Table& table : body_.tables) {
      if (!table.of_labels) continue;
      for (std::uint32_t& target : table.targets) {
        const Reference& reference = references[target];
        if (reference.kind != OperandKind::kLabel) {
          lexer_.fail_at(reference.text_offset, quoted(reference.name) + " is no label");
        }
        target = reference.id;
      }
    }
  }

  const Module& module_;
  const Function& function_;
  Body body_;
  Names names_;
  Lexer lexer_;
  Operands operands_;
  LabelScopes labels_;
  std::unordered_map<std::string_view, std::uint32_t> mnemonic_numbers_;
  std::uint32_t line_ = 0;
};

} // namespace

Body parse_body(const Module& module, const Function& function) {
  if (!function.has_body) {
    throw ParseError(module.text_line(function.text_offset),
                     quoted(function.name) + " has no body");
  }
  return BodyParser(module, function).parse();
}

} // namespace gmt::ptx
