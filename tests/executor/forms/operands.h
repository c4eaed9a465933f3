// SPDX-License-Identifier: Apache-2.0
// The operands of a form: edge values in all combinations, then random ones. They are the same on
// every machine, and the same for all forms whose operands take the same values.
#pragma once

#include "tests/executor/forms/form.h"

#include <span>

namespace gmt::forms {

// Laid out as the kernel of the form reads them.
std::vector<std::byte> operands_of(const Form& form);

// A number that changes with the operands or the kernel's text.
std::uint64_t fingerprint_of(const Form& form, std::span<const std::byte> operands);

// One element of an array.
std::uint64_t element(std::span<const std::byte> arrays, const std::vector<Values>& kinds,
                      std::uint32_t count, std::size_t array, std::uint32_t index);

} // namespace gmt::forms
