// SPDX-License-Identifier: Apache-2.0
// The syntax of PTX as data: a Module lists what its text declares, a Body is the code of one
// function. A Module is read at once, without its bodies; parse_body() reads one of them.
// All names are views into the module's own text: they live as long as the Module.
// Nothing is checked against an instruction table: any mnemonic with any operands is syntax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/lines.h"
#include "ptx/syntax/types.h"

namespace gmt::ptx {

inline constexpr std::uint32_t kNone = 0xffffffff;

enum class Linkage : std::uint8_t { kStatic, kVisible, kExtern, kWeak, kCommon };

// ---------------------------------------------------------------- variables

// A part of an initializer that is an address. `mask` is 0xff << 8n for one byte of it
// (written as mask(symbol)), and all ones for the whole address.
struct SymbolAddress {
  std::uint64_t at = 0;   // where in the variable's bytes, and
  std::uint32_t size = 0; // how many bytes the value takes there
  std::uint64_t mask = ~0ull;
  std::string_view symbol; // a variable, a function or an entry of the module
  std::int64_t addend = 0;
  bool generic = false; // written as generic(symbol): the address in the generic space
};

struct Variable {
  std::string_view name;
  Space space = Space::kNone;
  Linkage linkage = Linkage::kStatic;
  Type type = Type::kNone; // of an element
  std::uint8_t vector = 1; // elements of .v2, .v4, .v8
  bool is_array = false;
  bool unsized = false;    // extern .shared x[]: the launch says how large it is
  bool managed = false;    // .attribute(.managed)
  bool is_pointer = false; // a parameter with .ptr
  Space pointer_space = Space::kNone;
  std::uint32_t pointer_alignment = 0;
  std::uint32_t alignment = 1;       // in bytes; natural alignment if none is written
  std::uint64_t size = 0;            // in bytes
  std::vector<std::uint8_t> initial; // the first bytes; those after them are zero
  std::vector<SymbolAddress> addresses;
  std::uint32_t text_offset = 0; // of the declaration in Module::text()
};

// ---------------------------------------------------------------- functions

struct Function {
  std::string_view name;
  Linkage linkage = Linkage::kStatic;
  bool is_entry = false;
  bool has_body = false; // otherwise a declaration
  bool noreturn = false;
  std::vector<Variable> returns;                 // of .func; their space is kParam or kRegister
  std::vector<Variable> parameters;              // in order
  std::uint32_t max_threads[3] = {0, 0, 0};      // .maxntid; 0: not given
  std::uint32_t required_threads[3] = {0, 0, 0}; // .reqntid
  std::uint32_t min_blocks = 0;                  // .minnctapersm
  std::uint32_t max_registers = 0;               // .maxnreg
  std::uint32_t required_cluster[3] = {0, 0, 0}; // .reqnctapercluster
  std::string_view alias_of;                     // .alias: the function whose body this name has
  std::uint32_t text_offset = 0;                 // of the declaration
  std::uint32_t body_begin = 0;                  // behind "{" in Module::text()
  std::uint32_t body_end = 0;                    // at the matching "}"
};

// ---------------------------------------------------------------- modules

enum class SymbolKind : std::uint8_t { kVariable, kFunction };
struct Symbol {
  SymbolKind kind = SymbolKind::kVariable;
  std::uint32_t index = 0; // in Module::variables() or functions()
};

class Module {
public:
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  std::string_view text() const;
  std::uint32_t version() const; // 10 * major + minor: 83 for .version 8.3
  std::uint32_t target() const;  // 90 for sm_90, sm_90a, compute_90
  std::string_view target_name() const;
  bool debug() const;                 // .target sm_90, debug
  std::uint32_t address_size() const; // 32 or 64

  const std::vector<Variable>& variables() const;
  const std::vector<Function>& functions() const;
  std::optional<Symbol> find(std::string_view name) const;
  const Function* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;

  // Path of .file `index`; empty if there is none.
  std::string_view file(std::uint32_t index) const;
  // The name at `offset` behind a label of .section .debug_str; empty if there is none.
  std::string_view debug_name(std::string_view label, std::uint64_t offset) const;
  // Line of the PTX text, from 1.
  std::uint32_t text_line(std::uint32_t offset) const;

  struct Data;

private:
  friend Module parse_module(std::string text);
  explicit Module(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// ---------------------------------------------------------------- code

enum class OperandKind : std::uint8_t {
  kRegister,  // id: in Body::registers; negated: !%p
  kImmediate, // bits, number
  kSpecial,   // id: a SpecialRegister
  kVariable,  // id: in Module::variables(), with offset: sym+8
  kFunction,  // id: in Module::functions()
  kLocal,     // id: in Body::variables, with offset: .local, .shared and .param of the body
  kParameter, // id: in Function::parameters, with offset
  kReturn,    // id: in Function::returns, with offset
  kLabel,     // id: in Body::labels
  kPrototype, // id: in Body::prototypes
  kTable,     // id: in Body::tables: .branchtargets, .calltargets
  kDiscard,   // _
  kAddress,   // [a+offset]: parts(operand)[0] is a, with its offset; more parts: [tex, {x, y}]
  kVector,    // {a, b}: parts
  kPair,      // a|b: parts, of setp and shfl
  kList,      // (a, b): parts, of call
};

enum class Number : std::uint8_t { kInteger, kFloat32, kFloat64 }; // a decimal float is kFloat64

struct Operand {
  OperandKind kind = OperandKind::kDiscard;
  bool negated = false;
  Number number = Number::kInteger;
  bool has_offset = false;  // [a+0]: without optimisation ptxas makes other code of it than of [a]
  std::uint16_t count = 0;  // of parts
  std::uint32_t id = kNone; // see OperandKind; kAddress, kVector, kPair, kList: index of parts
  union {
    std::uint64_t bits = 0;
    std::int64_t offset;
  };
};

// "ld.global.nc.v4.f32" -> opcode "ld", modifiers "global", "nc", "v4", "f32" (and "::" inside
// of one stays: "cp.async.bulk.shared::cluster"). Each form is once in Body::mnemonics.
struct Mnemonic {
  std::string_view text;
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  bool has(std::string_view modifier) const;
};
Mnemonic mnemonic_of(std::string_view text);

struct Instruction {
  std::uint32_t mnemonic = 0;  // in Body::mnemonics
  std::uint32_t guard = kNone; // register of @p
  bool guard_negated = false;  // @!p
  std::uint16_t operand_count = 0;
  std::uint32_t first_operand = 0; // in Body::operands; its parts stand elsewhere in it
  std::uint32_t line = 0;          // in Body::lines; 0: unknown
  std::uint32_t text_offset = 0;   // in Module::text(), and
  std::uint32_t text_size = 0;     // to the ";", which is not part of it
};

// Only registers that the code names are here, numbered in the order of their first use.
struct Register {
  Type type = Type::kNone;
  std::string_view name;      // as it is written where it is first used, without a component
  std::uint8_t vector = 1;    // registers that share this name: those of a ".reg .v4 .f32 %v", and
  std::uint8_t component = 0; // which of them it is: 1 for %v.y
};

// ".reg .v4 .f32 %name<count>": `count` is kNone for a single register.
struct RegisterDeclaration {
  std::string_view name;
  Type type = Type::kNone;
  std::uint8_t vector = 1;
  std::uint32_t count = kNone;
};

struct Label {
  std::string_view name;
  std::uint32_t instruction = kNone; // the one behind it; Body::instructions.size(): the end
};

// A directive that means nothing here, and its number: ".abi_preserve 8".
struct Directive {
  std::string_view name;
  std::optional<std::uint64_t> value;

  bool operator==(const Directive&) const = default;
};

struct Prototype {
  std::string_view name;
  bool noreturn = false;
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  std::vector<Directive> others;
};

struct Table {
  std::string_view name;
  bool of_labels = false;             // .branchtargets, else .calltargets
  std::vector<std::uint32_t> targets; // in Body::labels or Module::functions()
};

// What stands between instructions. Names may mean other things in other scopes, so a text that is
// made from a Body again needs the scopes.
enum class StatementKind : std::uint8_t {
  kOpen,      // {
  kClose,     // }
  kRegisters, // id: in Body::declarations
  kVariable,  // id: in Body::variables
  kLabel,     // id: in Body::labels
  kPrototype, // id: in Body::prototypes
  kTable,     // id: in Body::tables
  kLine,      // .loc; id: in Body::lines
  kPragma,    // id: in Body::pragmas
};
struct Statement {
  StatementKind kind = StatementKind::kOpen;
  std::uint32_t id = kNone;
  std::uint32_t instruction = 0; // the one behind it; Body::instructions.size(): the end

  bool operator==(const Statement&) const = default;
};

struct Body {
  std::vector<Instruction> instructions;
  std::vector<Statement> statements; // in the order of the text
  std::vector<Operand> operands;
  std::vector<Mnemonic> mnemonics;
  std::vector<Register> registers;
  std::vector<RegisterDeclaration> declarations; // of all scopes, as are
  std::vector<Variable> variables;               // these; names may occur more than once
  std::vector<Label> labels;
  std::vector<Prototype> prototypes;
  std::vector<Table> tables;
  std::vector<std::string_view> pragmas; // between the quotes, escapes as they stand
  LineTable lines;
  // Registers of parameters and returns whose space is kRegister, kNone for the others.
  std::vector<std::uint32_t> parameter_registers;
  std::vector<std::uint32_t> return_registers;

  const Operand* begin(const Instruction& instruction) const {
    return operands.data() + instruction.first_operand;
  }
  const Operand& operand(const Instruction& instruction, std::size_t index) const {
    return operands[instruction.first_operand + index];
  }
  const Operand* parts(const Operand& operand) const { return operands.data() + operand.id; }
  const Mnemonic& mnemonic(const Instruction& instruction) const {
    return mnemonics[instruction.mnemonic];
  }
};

// The parts of a call. `target` is kFunction or kRegister, or kImmediate; the lists are kList.
struct Call {
  const Operand* target = nullptr;
  const Operand* returns = nullptr;   // null: none
  const Operand* arguments = nullptr; // null: none
  const Operand* prototype = nullptr; // kPrototype, kTable, kFunction or null
};
Call call_of(const Body& body, const Instruction& instruction);

// ---------------------------------------------------------------- reading

// Throws ParseError if the text is no PTX. Reads everything but the code of functions.
Module parse_module(std::string text);

// The code of a function of this module, which has one. Throws ParseError.
Body parse_body(const Module& module, const Function& function);

} // namespace gmt::ptx
