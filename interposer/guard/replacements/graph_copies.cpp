// SPDX-License-Identifier: Apache-2.0
// Replacements of calls that give a graph a copy: of a fenced block that another device has, CUDA
// takes it with the context of that device only (foreign_copies.h).

#include "interposer/guard/driver.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/foreign_copies.h"
#include "interposer/guard/replacements/replacements.h"
#include "interposer/recorders/copies_and_launches.h"

namespace gmt::interposer {

namespace {

#define ROW(symbol) driver_row<decltype(symbol##_here)>(trace::kApi_##symbol)
#define HERE(symbol) install(trace::kApi_##symbol, reinterpret_cast<void*>(&symbol##_here))

// Null if the call failed for another reason.
CUcontext other_context(CUresult result, const CUDA_MEMCPY3D* copy, CUcontext context) noexcept {
  if (result != CUDA_ERROR_INVALID_VALUE || copy == nullptr || !guard_is_on()) return nullptr;
  Record record;
  CopyShape<0>::before(record, Arguments<const CUDA_MEMCPY3D*>{{copy}});
  const WithContext with(context);
  CopyContexts contexts;
  const bool is_foreign = with.ready() && has_foreign_block(record, &contexts);
  return is_foreign ? contexts.only_foreign() : nullptr;
}

CUresult cuGraphAddMemcpyNode_here(CUgraphNode* node, CUgraph graph, const CUgraphNode* needed,
                                   std::size_t count, const CUDA_MEMCPY3D* copy,
                                   CUcontext context) noexcept {
  const CUresult result = ROW(cuGraphAddMemcpyNode)(node, graph, needed, count, copy, context);
  const CUcontext other = other_context(result, copy, context);
  if (other == nullptr) return result;
  return ROW(cuGraphAddMemcpyNode)(node, graph, needed, count, copy, other);
}

CUresult cuGraphExecMemcpyNodeSetParams_here(CUgraphExec executable, CUgraphNode node,
                                             const CUDA_MEMCPY3D* copy,
                                             CUcontext context) noexcept {
  const CUresult result = ROW(cuGraphExecMemcpyNodeSetParams)(executable, node, copy, context);
  const CUcontext other = other_context(result, copy, context);
  return other != nullptr ? ROW(cuGraphExecMemcpyNodeSetParams)(executable, node, copy, other)
                          : result;
}

} // namespace

void install_graph_copies(Install install) noexcept {
  HERE(cuGraphAddMemcpyNode);
  HERE(cuGraphExecMemcpyNodeSetParams);
}

} // namespace gmt::interposer
