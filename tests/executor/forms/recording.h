// SPDX-License-Identifier: Apache-2.0
// Results of all forms as one device gave them, and the file that holds them. Operands are not in
// it: they are made anew, and a fingerprint tells whether they are the same.
#pragma once

#include "tests/executor/forms/form.h"

#include <map>
#include <span>

namespace gmt::forms {

struct Results {
  std::uint64_t fingerprint = 0;
  bool refused = false; // by the device's assembler
  std::vector<std::byte> bytes;
};

struct Recording {
  std::string device;
  std::map<std::string, Results, std::less<>> of_form;
};

// Empty if it was written, else what went wrong.
std::string write_recording(const Recording& recording, const std::string& path);
std::string read_recording(const std::string& path, Recording* recording);

struct Difference {
  std::uint32_t wrong = 0;  // threads whose results differ
  double largest_error = 0; // in units of the last place, of results beyond the absolute bound
  double largest_absolute = 0;
  std::string first; // operands and both results of the first of them
};

// Of an exact form every bit counts. Else `wrong` counts those beyond the form's bound.
Difference compare(const Form& form, std::span<const std::byte> operands,
                   std::span<const std::byte> expected, std::span<const std::byte> found);

} // namespace gmt::forms
