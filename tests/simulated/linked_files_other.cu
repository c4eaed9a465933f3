// SPDX-License-Identifier: Apache-2.0
// The second file of linked_files.cu.
#define NUMBER 2
#include "linked_files.h"

bool other_is_right() { return is_right(); }
