// SPDX-License-Identifier: Apache-2.0
// The labels of call stacks, see stack_role.h.
#include "analyzer/model/stack_role.h"

#include "analyzer/base/text_format.h"

namespace gmt {
std::string_view words_of(StackRole role) {
  switch (role) {
  case StackRole::kAllocated: return "allocated";
  case StackRole::kRegistered: return "registered";
  case StackRole::kLookedUp: return "looked up";
  case StackRole::kCreated: return "created";
  case StackRole::kImported: return "imported";
  case StackRole::kFreed: return "freed";
  case StackRole::kUnregistered: return "unregistered";
  case StackRole::kReleased: return "released";
  case StackRole::kUnmapped: return "unmapped";
  case StackRole::kClosed: return "closed";
  case StackRole::kHostMemoryFreed: return "host memory freed";
  case StackRole::kFreedByHost: return "freed by the host";
  case StackRole::kContextEnded: return "context ended";
  case StackRole::kPoolEnded: return "pool ended";
  case StackRole::kPoolDestroyed: return "pool destroyed";
  case StackRole::kDestroyed: return "destroyed";
  case StackRole::kCopied: return "copied";
  case StackRole::kHostMemoryCopied: return "host memory copied";
  case StackRole::kSet: return "set";
  case StackRole::kUsed: return "used";
  case StackRole::kCalled: return "called";
  case StackRole::kAccessed: return "accessed";
  case StackRole::kWaited: return "waited";
  case StackRole::kLaunched: return "launched";
  case StackRole::kGraphLaunched: return "graph launched";
  case StackRole::kGraphFirstLaunched: return "graph first launched";
  case StackRole::kGraphLastLaunched: return "graph last launched";
  case StackRole::kCaptured: return "captured";
  case StackRole::kNodeMade: return "node made";
  case StackRole::kFailed: return "failed";
  case StackRole::kReported: return "reported";
  case StackRole::kLimitRefused: return "limit refused";
  case StackRole::kHeld: return "held";
  }
  return "called";
}

std::string stack_label(StackRole role, StackOrder order,
                        const std::optional<MemoryAmount>& amount) {
  std::string label;
  if (order == StackOrder::kFirst) label = "first ";
  if (order == StackOrder::kNeighbour) label = "neighbour ";
  label += words_of(role);
  if (order == StackOrder::kAgain) label += " again";
  if (order == StackOrder::kTooLate) label += " too late";
  label += " here";
  if (amount)
    label +=
      cat({": ", format_bytes(amount->bytes), " in ", format_plural(amount->blocks, "block")});
  return label;
}

} // namespace gmt
