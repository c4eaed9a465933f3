# SPDX-License-Identifier: Apache-2.0
# The collector of --coalescing against a made-up driver and a made-up CUPTI, so that the thread sanitizer sees it.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(collector ${PROJECT_SOURCE_DIR}/interposer/coalescing/collector)
file(GLOB collector_sources CONFIGURE_DEPENDS ${collector}/sampling/*.cpp ${collector}/windows/*.cpp)
list(APPEND collector_sources ${collector}/library.cpp)
add_executable(collector_test ${here}/collector_test.cpp ${here}/collector_threads_test.cpp ${collector_sources})
add_executable(collector_costs_test ${here}/collector_costs_test.cpp ${collector_sources}) # has a device of its own
foreach(test collector_test collector_costs_test)
  target_compile_definitions(${test} PRIVATE _GNU_SOURCE)
  target_link_libraries(${test} PRIVATE gmt_trace gmt_warnings gmt_sanitize zstd lz4 GTest::gtest_main)
  gtest_discover_tests(${test} PROPERTIES LABELS unit TIMEOUT 120)
endforeach()
target_compile_definitions(collector_test PRIVATE GMT_CUBINS="${cubins}")
