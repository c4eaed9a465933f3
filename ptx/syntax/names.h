// SPDX-License-Identifier: Apache-2.0
// The names that a body declares, by scopes ("{ }"), and its registers. A register gets its number
// when it is first used: ".reg .b32 %r<1000000000>" costs nothing.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// Numbers of registers, by where they are declared and which one they are there.
class RegisterNumbers {
public:
  // The stored number; `next` is stored and returned if there was none.
  std::uint32_t find_or_add(std::uint64_t key, std::uint32_t next);

private:
  struct Entry {
    std::uint64_t key = ~0ull;
    std::uint32_t number = 0;
  };
  void grow();
  std::vector<Entry> entries_; // a power of two; open addressing
  std::size_t used_ = 0;
};

enum class NameKind : std::uint8_t { kRegister, kLocal, kParameter, kReturn };

struct Name {
  NameKind kind = NameKind::kRegister;
  std::uint32_t index = 0; // of a declaration of registers, or see OperandKind
};

// A register as it is written: which declaration, and which of its registers.
struct RegisterUse {
  std::uint32_t declaration = 0;
  std::uint32_t number = 0;
};

class Names {
public:
  static constexpr std::size_t kDeepest = 64;

  std::size_t depth() const { return scopes_.size(); }
  void open_scope() { scopes_.push_back(undo_.size()); }
  void close_scope();

  // False: the innermost scope has this name already.
  bool declare(std::string_view name, Name what);
  bool declare(const RegisterDeclaration& registers);

  const Name* find(std::string_view name) const;
  // %r12 of "%r<20>" or a register of this very name.
  bool find_register(std::string_view name, RegisterUse& use) const;
  const RegisterDeclaration& declaration(std::uint32_t index) const { return declarations_[index]; }

  // The number of a component (0 if it is no vector) of a register in Body::registers.
  std::uint32_t number_of(const RegisterUse& use, std::uint32_t component, std::string_view written,
                          std::vector<Register>& registers);

private:
  struct Bound {
    Name name;
    std::size_t depth = 0;
    std::uint32_t hides = kNone; // in undo_: what it was in a scope around
  };
  // %r12 as number 12 of "%r<20>", whose name ends at `prefix`; null if there is none.
  const Bound* find_numbered(std::string_view name, std::size_t prefix, RegisterUse& use) const;

  struct Undo {
    std::string_view name;
    bool was_bound = false;
    Bound before;
  };
  std::unordered_map<std::string_view, Bound> names_;
  std::vector<Undo> undo_;
  std::vector<std::size_t> scopes_; // where in undo_ they begin
  std::vector<RegisterDeclaration> declarations_;
  RegisterNumbers numbers_;
  bool ambiguous_ = false; // a name such as "%r1" was declared while there was a "%r"
};

} // namespace gmt::ptx
