// SPDX-License-Identifier: Apache-2.0
// One cubin: the ELF file of device code that a GPU loads, for one architecture. Gives the
// instructions of a function that access memory, with the lines they came from.
//
// Reads the layouts of nvcc 11 to 13 from memory. Trusts nothing: what lies outside the image is
// not there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/device_code/cubin_lines.h"
#include "analyzer/device_code/instruction.h"
#include "analyzer/symbols/elf_image.h"

namespace gmt {

class Cubin {
public:
  // Nothing if this is no cubin. The bytes must outlive what is returned.
  static std::optional<Cubin> open(std::span<const char> bytes);

  unsigned architecture() const { return architecture_; } // 90 for sm_90 and sm_90a

  // Names as linked: of kernels and functions with a section of their own, and of functions in the
  // section of the kernel that calls them. The latter may occur several times.
  std::vector<std::string_view> functions() const;

  struct Variable {
    std::string_view name; // as linked
    std::uint64_t bytes = 0;
  };
  std::vector<Variable> variables() const;

  // Where an address leads that a kernel executed, in the image of a module as the driver has moved
  // it to the GPU's addresses. Functions that are not there yet have none.
  struct Location {
    std::string_view function;     // as linked
    std::string_view kernel;       // that has the function in its section; the same for kernels
    std::uint64_t offset = 0;      // in the function
    std::uint64_t rest = 0;        // bytes of the function from there on
    std::span<const char> code;    // the function's
    std::vector<SourceLine> lines; // innermost first; empty without line information
  };
  std::optional<Location> locate(std::uint64_t address) const;

  // Of such an image: the address in constant bank 4, and the text that a variable at an address
  // was initialised with. Empty if none is there, or if several texts are as long as the variable.
  std::uint64_t address_constant(std::uint64_t offset) const;
  std::string_view text_at(std::uint64_t address) const;

  // Of several with that name the first.
  std::optional<FunctionCode> function(std::string_view name) const;

private:
  using Section = ElfImage::Section;
  struct Symbol {
    std::string_view name;
    std::size_t section = 0;
    std::uint64_t offset = 0, bytes = 0; // in the section
    std::uint64_t address = 0;           // 0 where it is not loaded
    bool function = false, variable = false;

    std::string_view inner() const; // empty unless it lies in a kernel's section
  };

  explicit Cubin(ElfImage image);
  std::vector<Symbol> symbols() const;
  CubinLines lines_of(std::size_t section, std::span<const Symbol> symbols) const;

  ElfImage image_;
  unsigned architecture_ = 0;
};

} // namespace gmt
