# SPDX-License-Identifier: Apache-2.0
# The collector of --coalescing against a made-up driver and a made-up CUPTI, so that the thread sanitizer sees it: the
# product's own objects, but for those that call CUPTI.
if(NOT TARGET collector_objects)
  return()
endif()
add_library(collector_parts STATIC $<TARGET_OBJECTS:collector_objects>)
set(here ${CMAKE_CURRENT_LIST_DIR})
add_executable(collector_test ${here}/collector_test.cpp ${here}/collector_threads_test.cpp)
add_executable(collector_costs_test ${here}/collector_costs_test.cpp) # has a device of its own
foreach(test collector_test collector_costs_test)
  target_compile_definitions(${test} PRIVATE _GNU_SOURCE)
  target_link_libraries(${test} PRIVATE collector_parts gmt_trace gmt_warnings gmt_sanitize zstd lz4 GTest::gtest_main)
  gtest_discover_tests(${test} PROPERTIES LABELS unit TIMEOUT 120)
endforeach()
target_compile_definitions(collector_test PRIVATE GMT_CUBINS="${cubins}")
