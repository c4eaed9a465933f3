// SPDX-License-Identifier: Apache-2.0
// Dominators of the reversed graph, whose root is the end of the function: semi-dominators with
// path compression, then the nearest common ancestor (Georgiadis's "SEMI-NCA"). No recursion.
#include "ptx/flow/dominators.h"

#include <algorithm>
#include <utility>

namespace gmt::ptx {
namespace {

class PostDominators {
public:
  explicit PostDominators(Flow& flow)
      : flow_(flow), count_(static_cast<std::uint32_t>(flow.blocks.size())),
        order_of_(count_, kNone) {}

  void find() {
    add_node(kNone, 0); // the end
    for (std::uint32_t b = 0; b < count_; ++b) {
      if (leaves(b)) visit(b);
    }
    visit_endless();
    find_semi_dominators();
    find_immediate();
    for (std::uint32_t b = 0; b < count_; ++b) {
      flow_.blocks[b].reconverges_at = block_[immediate_[order_of_[b]]];
    }
  }

private:
  bool leaves(std::uint32_t b) const {
    const BasicBlock& block = flow_.blocks[b];
    const bool ends = block.end == BlockEnd::kLeave || block.end == BlockEnd::kMayLeave;
    return ends || block.falls_off || block.successors.empty();
  }

  std::uint32_t add_node(std::uint32_t block, std::uint32_t parent) {
    const auto number = static_cast<std::uint32_t>(block_.size());
    block_.push_back(block);
    parent_.push_back(parent);
    if (block != kNone) order_of_[block] = number;
    return number;
  }

  // Numbers all blocks that lead to this one, depth first.
  void visit(std::uint32_t root) {
    exits_.push_back(root);
    if (order_of_[root] != kNone) return;
    std::vector<std::pair<std::uint32_t, std::size_t>> stack; // block, next predecessor
    add_node(root, 0);
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const std::uint32_t block = stack.back().first;
      const auto& predecessors = flow_.blocks[block].predecessors;
      if (stack.back().second == predecessors.size()) {
        stack.pop_back();
        continue;
      }
      const std::uint32_t next = predecessors[stack.back().second++];
      if (order_of_[next] != kNone) continue;
      add_node(next, order_of_[block]);
      stack.emplace_back(next, 0);
    }
  }

  // A loop without an end: the block that a walk forward finishes first is in it.
  void visit_endless() {
    std::vector<bool> seen(count_, false);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;
    for (std::uint32_t root = 0; root < count_; ++root) {
      if (seen[root] || order_of_[root] != kNone) continue;
      seen[root] = true;
      stack.emplace_back(root, 0);
      while (!stack.empty()) {
        const std::uint32_t block = stack.back().first;
        const auto& successors = flow_.blocks[block].successors;
        if (stack.back().second == successors.size()) {
          if (order_of_[block] == kNone) visit(block);
          stack.pop_back();
          continue;
        }
        const std::uint32_t next = successors[stack.back().second++];
        if (seen[next] || order_of_[next] != kNone) continue;
        seen[next] = true;
        stack.emplace_back(next, 0);
      }
    }
  }

  // The node with the smallest semi-dominator on the path to `node` among those already done.
  std::uint32_t best_above(std::uint32_t node, std::uint32_t last_done) {
    path_.clear();
    std::uint32_t top = node;
    for (; ancestor_[top] >= last_done; top = ancestor_[top]) path_.push_back(top);
    path_.push_back(top);
    for (std::size_t i = path_.size(); i-- > 1;) { // from the top
      const std::uint32_t upper = path_[i];
      const std::uint32_t lower = path_[i - 1];
      if (semi_[best_[upper]] < semi_[best_[lower]]) best_[lower] = best_[upper];
      ancestor_[lower] = ancestor_[upper];
    }
    return best_[node];
  }

  void find_semi_dominators() {
    const auto nodes = static_cast<std::uint32_t>(block_.size());
    semi_.resize(nodes);
    best_.resize(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) semi_[i] = best_[i] = i;
    ancestor_ = parent_;
    std::vector<bool> is_exit(nodes, false);
    for (const std::uint32_t block : exits_) is_exit[order_of_[block]] = true;
    for (std::uint32_t node = nodes; node-- > 1;) {
      semi_[node] = is_exit[node] ? 0 : parent_[node];
      for (const std::uint32_t next : flow_.blocks[block_[node]].successors) {
        const std::uint32_t best = best_above(order_of_[next], node + 1);
        semi_[node] = std::min(semi_[node], semi_[best]);
      }
    }
  }

  void find_immediate() {
    immediate_ = parent_;
    for (std::uint32_t node = 1; node < immediate_.size(); ++node) {
      while (immediate_[node] > semi_[node]) immediate_[node] = immediate_[immediate_[node]];
    }
  }

  Flow& flow_;
  std::uint32_t count_;
  std::vector<std::uint32_t> order_of_; // of a block
  std::vector<std::uint32_t> block_;    // of a node; nodes are numbered in order of the walk
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> exits_;
  std::vector<std::uint32_t> semi_, best_, ancestor_, immediate_;
  std::vector<std::uint32_t> path_;
};

} // namespace

void find_post_dominators(Flow& flow) { PostDominators(flow).find(); }

} // namespace gmt::ptx
