// SPDX-License-Identifier: Apache-2.0
// The registry of detectors: a list built by static constructors, read after main has begun. The
// head is constant-initialised, so the order of those constructors does not matter.

#include "analyzer/detectors/detector.h"

#include <algorithm>
#include <utility>

namespace gmt {
namespace {

constinit const DetectorRegistration* g_first = nullptr;

} // namespace

DetectorRegistration::DetectorRegistration(const DetectorInfo& registered)
    : info(registered), next(g_first) {
  g_first = this;
}

std::vector<const DetectorInfo*> all_detectors() {
  std::vector<const DetectorInfo*> all;
  for (const DetectorRegistration* r = g_first; r != nullptr; r = r->next) all.push_back(&r->info);
  std::ranges::sort(all, [](const DetectorInfo* a, const DetectorInfo* b) {
    return std::pair(a->id, a->is_another_way) < std::pair(b->id, b->is_another_way);
  });
  return all;
}

std::vector<const DetectorInfo*> detectors() {
  std::vector<const DetectorInfo*> kinds = all_detectors();
  std::erase_if(kinds, [](const DetectorInfo* info) { return info->is_another_way; });
  return kinds;
}

const DetectorInfo* detector_of(std::string_view kind) {
  for (const DetectorRegistration* r = g_first; r != nullptr; r = r->next) {
    if (r->info.id == kind && !r->info.is_another_way) return &r->info;
  }
  return nullptr;
}

} // namespace gmt
