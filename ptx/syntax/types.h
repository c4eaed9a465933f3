// SPDX-License-Identifier: Apache-2.0
// Types, state spaces and special registers of PTX, and the error of bad text.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gmt::ptx {

enum class Space : std::uint8_t {
  kNone, // generic
  kRegister,
  kConst,
  kGlobal,
  kLocal,
  kParam,
  kShared,
  kTexture,
  kTensor, // tensor memory; no word names it
};

enum class Type : std::uint8_t {
  kNone,
#define GMT_PTX_TYPE(enumerator, name, bits) enumerator,
#include "ptx/syntax/types.def"
#undef GMT_PTX_TYPE
};

// Of a value in a register: kPred has 1 bit. 0 for kNone.
std::uint32_t bits_of(Type type);
// In memory, in bytes. kPred has none; opaque types take 8.
std::uint32_t size_of(Type type);
std::string_view name_of(Type type);      // "b32"
Type type_named(std::string_view name);   // without its point; kNone if there is no such type
std::string_view name_of(Space space);    // "global"; "generic" for kNone
Space space_named(std::string_view name); // "shared::cta" is kShared; kNone if there is none

enum class SpecialRegister : std::uint8_t {
#define GMT_PTX_SPECIAL(enumerator, name, type) enumerator,
#include "ptx/syntax/special_registers.def"
#undef GMT_PTX_SPECIAL
};
std::string_view name_of(SpecialRegister special); // "%tid.x"
Type type_of(SpecialRegister special);
bool find_special(std::string_view name, SpecialRegister& special); // false: there is none

// What is wrong with a text, with the line (from 1) on which it is wrong.
class ParseError : public std::runtime_error {
public:
  ParseError(std::uint32_t line, const std::string& what)
      : std::runtime_error("line " + std::to_string(line) + ": " + what), line_(line) {}
  std::uint32_t line() const { return line_; }

private:
  std::uint32_t line_;
};

} // namespace gmt::ptx
