// SPDX-License-Identifier: Apache-2.0
// A driver function is looked up once, and one that is missing answers so until it is there.
#include "interposer/loader/driver_function.h"

#include <gtest/gtest.h>

#include <string>

namespace gmt::interposer {
namespace {

int lookups = 0;
bool is_loaded = false;

int add(int a, int* sum) {
  *sum += a;
  return 7;
}

void* look_up(const char* name) {
  ++lookups;
  return is_loaded && std::string(name) == "cuAdd" ? reinterpret_cast<void*>(&add) : nullptr;
}

constinit DriverFunctionBy<look_up, int, int*> add_by_name{"cuAdd"};

TEST(InterposerDriverFunction, IsLookedUpUntilItIsFound) {
  int sum = 0;
  EXPECT_EQ(lookups, 0);
  EXPECT_FALSE(add_by_name.is_there());
  EXPECT_EQ(add_by_name(1, &sum), kNoSuchFunction);
  EXPECT_EQ(sum, 0);
  EXPECT_EQ(lookups, 2);
  is_loaded = true;
  EXPECT_EQ(add_by_name(2, &sum), 7);
  EXPECT_EQ(add_by_name(3, &sum), 7);
  EXPECT_TRUE(add_by_name.is_there());
  EXPECT_EQ(sum, 5);
  EXPECT_EQ(lookups, 3);
}

} // namespace
} // namespace gmt::interposer
