// SPDX-License-Identifier: Apache-2.0
// Takes the place of the executor's machine/best_forms.cpp in this executable.
#include "tests/unit/simulated_cuda/executor/forms/chosen_level.h"

#include "simulated_cuda/executor/machine/handlers/forms.h"

namespace gmt::executor {
namespace {

int chosen_level = 3;

} // namespace

void choose_level(int level) { chosen_level = level; }

const FormTable& forms() {
  const FormTable* chosen = forms_of_level(chosen_level);
  return chosen != nullptr ? *chosen : *forms_of_level(2);
}

} // namespace gmt::executor
