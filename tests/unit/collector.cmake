# The collector of --coalescing against a made-up driver and a made-up CUPTI, so that the thread sanitizer sees it.
set(collector ${PROJECT_SOURCE_DIR}/interposer/cupti)
add_executable(collector_test collector_test.cpp collector_threads_test.cpp ${collector}/context.cpp ${collector}/counting.cpp
  ${collector}/graphs.cpp ${collector}/idle.cpp ${collector}/images.cpp
  ${collector}/kernels.cpp ${collector}/launches.cpp ${collector}/library.cpp ${collector}/streams.cpp ${collector}/sums.cpp ${collector}/windows.cpp)
target_compile_definitions(collector_test PRIVATE _GNU_SOURCE)
target_link_libraries(collector_test PRIVATE gmt_trace gmt_warnings gmt_sanitize GTest::gtest_main)
gtest_discover_tests(collector_test PROPERTIES LABELS unit TIMEOUT 120)
