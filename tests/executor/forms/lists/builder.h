// SPDX-License-Identifier: Apache-2.0
// Helpers for lists of forms. A form whose operands and result have one shape needs its instruction
// and their kinds alone; others name their body.
#pragma once

#include "tests/executor/forms/form.h"

#include <initializer_list>
#include <utility>

namespace gmt::forms {

struct Type {
  const char* name;
  Values values;
};

inline constexpr Type kIntegers[] = {{"u16", Values::kBits16}, {"s16", Values::kBits16},
                                     {"u32", Values::kBits32}, {"s32", Values::kBits32},
                                     {"u64", Values::kBits64}, {"s64", Values::kBits64}};
inline constexpr Type kBitTypes[] = {
  {"b16", Values::kBits16}, {"b32", Values::kBits32}, {"b64", Values::kBits64}};
inline constexpr const char* kRoundings[] = {".rn", ".rz", ".rm", ".rp"};

inline bool is_signed(const Type& type) { return type.name[0] == 's'; }

inline Values twice(Values values) {
  return values == Values::kBits16 ? Values::kBits32 : Values::kBits64;
}

class List {
public:
  // "INSTRUCTION %d, %a, %b;" with as many operands as there are kinds.
  Form& add(const std::string& instruction, Values result, std::vector<Values> operands) {
    static constexpr const char* kNames[] = {", %a", ", %b", ", %c", ", %e"};
    std::string body = instruction + " %d";
    for (std::size_t k = 0; k < operands.size(); ++k) body += kNames[k];
    return add_body(instruction, body + ";", {result}, std::move(operands));
  }
  Form& add_body(const std::string& name, const std::string& body, std::vector<Values> results,
                 std::vector<Values> operands) {
    Form form;
    form.name = name;
    form.body = body;
    form.results = std::move(results);
    form.operands = std::move(operands);
    forms_.push_back(std::move(form));
    return forms_.back();
  }
  std::vector<Form> take() { return std::move(forms_); }

private:
  std::vector<Form> forms_;
};

} // namespace gmt::forms
