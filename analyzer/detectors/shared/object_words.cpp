// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/object_words.h"

#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {

ApiWord right_destroy_for(trace::ObjectClass object, std::string_view api) {
  const ObjectTraits& traits = traits_of(object);
  return {is_runtime_name(api), traits.driver, traits.destroy};
}

void add_life(Finding& f, const CudaObject& object, StackOrder order, const TraceNames& names) {
  if (object.ended) {
    const StackRole role = object.with_context ? StackRole::kContextEnded : StackRole::kDestroyed;
    f.stacks.push_back(
      stack_as(role, object.ended->stack, names.api_name(object.ended->api), order));
  }
  f.stacks.push_back(
    stack_as(StackRole::kCreated, object.created.stack, names.api_name(object.created.api)));
}

} // namespace gmt
