// SPDX-License-Identifier: Apache-2.0
// What each kind of event does with the heap's parts, and in which order: verdicts, accesses, then
// changes. The functions get events that are not nested, refused ones too.
#pragma once

namespace gmt {

struct Event;
struct HeapParts;

void apply_allocation(HeapParts& heap, const Event& e);
void apply_free(HeapParts& heap, const Event& e);
void apply_copy(HeapParts& heap, const Event& e);
void apply_set(HeapParts& heap, const Event& e);
void apply_use(HeapParts& heap, const Event& e);
void apply_launch(HeapParts& heap, const Event& e);
void apply_sync(HeapParts& heap, const Event& e);
void apply_context(HeapParts& heap, const Event& e);
void apply_tensor(HeapParts& heap, const Event& e);
void apply_host_memory(HeapParts& heap, const Event& e);
void apply_life(HeapParts& heap, const Event& e);

} // namespace gmt
