# SPDX-License-Identifier: Apache-2.0
# The collector of --coalescing against a made-up driver and a made-up CUPTI, so that the thread sanitizer sees it.
set(collector ${PROJECT_SOURCE_DIR}/interposer/cupti)
set(collector_sources ${collector}/code_bound.cpp ${collector}/context.cpp ${collector}/counting.cpp
  ${collector}/graphs.cpp ${collector}/idle.cpp ${collector}/images.cpp
  ${collector}/kernels.cpp ${collector}/launches.cpp ${collector}/library.cpp ${collector}/sass_bound.cpp ${collector}/streams.cpp ${collector}/sums.cpp ${collector}/timings.cpp ${collector}/windows.cpp)
add_executable(collector_test collector_test.cpp collector_threads_test.cpp ${collector_sources})
add_executable(collector_costs_test collector_costs_test.cpp ${collector_sources}) # has a device of its own
foreach(test collector_test collector_costs_test)
  target_compile_definitions(${test} PRIVATE _GNU_SOURCE)
  target_link_libraries(${test} PRIVATE gmt_trace gmt_warnings gmt_sanitize zstd GTest::gtest_main)
  gtest_discover_tests(${test} PROPERTIES LABELS unit TIMEOUT 120)
endforeach()
target_compile_definitions(collector_test PRIVATE GMT_CUBINS="${cubins}")
