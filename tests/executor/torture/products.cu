// SPDX-License-Identifier: Apache-2.0
// Products of matrices in the ways of libraries: what an H100 gave, bit by bit.
#include "convolutions.h"

int main(int count, char** arguments) {
  return torture::run(count, arguments, {products::test, other_products::test, convolutions::test});
}
