// SPDX-License-Identifier: Apache-2.0
// Warpgroups, copies of tensors and clusters: what an H100 gave, bit by bit.
#include "clusters.h"
#include "warpgroup_tests.h"

int main(int count, char** arguments) {
  return torture::run(count, arguments, {warpgroups::test, clusters::test});
}
