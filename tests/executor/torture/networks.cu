// SPDX-License-Identifier: Apache-2.0
// Attention and the other layers of networks: what an H100 gave, bit by bit.
#include "attention.h"
#include "layers.h"

int main(int count, char** arguments) {
  return torture::run(count, arguments, {attention::test, layers::test});
}
