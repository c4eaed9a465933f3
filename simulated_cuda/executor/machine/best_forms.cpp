// SPDX-License-Identifier: Apache-2.0
// Which of the tables of forms the machine executes with. It has a file of its own because a test
// of one level's handlers defines forms() itself: the linker then leaves this file out.
#include "simulated_cuda/executor/machine/handlers/forms.h"

namespace gmt::executor {

const FormTable& forms() {
  const FormTable* best = forms_of_level(3);
  return best != nullptr ? *best : *forms_of_level(2);
}

} // namespace gmt::executor
