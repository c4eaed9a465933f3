// SPDX-License-Identifier: Apache-2.0
// Leaks of one call stack make one finding, with their number and the sum of their bytes; another caller of the same
// function, or another line, is another finding. Blocks that were freed in between do not count.
//
// run:
// expect: error leak bytes=1500 count=5 stacks="allocated here"@load_image:LINE(image)
// expect: error leak bytes=600 count=2 stacks="allocated here"@load_image:LINE(image)
// expect: error leak bytes=4096 count=1 stacks="allocated here"@load_mask:LINE(mask)
#include "answers.h"

static char* load_image()
{
  char* image = nullptr;
  CHECK(cudaMalloc(&image, 300)); // @image
  TOUCH(image, 300);
  return image;
}

static void load_mask()
{
  char* mask = nullptr;
  CHECK(cudaMalloc(&mask, 4096)); // @mask
  TOUCH(mask, 4096);
}

static void load_training_set(int images)
{
  for (int i = 0; i < images; ++i)
    if (char* image = load_image(); i % 2 != 0)
      CHECK(cudaFree(image));
}

static void load_test_set(int images)
{
  for (int i = 0; i < images; ++i)
    load_image();
}

int main()
{
  volatile int training_images = 10, test_images = 2; // volatile, so that the loops stay loops
  load_training_set(training_images);
  load_test_set(test_images);
  load_mask();
  return 0;
}
