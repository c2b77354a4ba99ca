# The tsan preset: makes ThreadSanitizer see the locks of a distribution's uninstrumented Abseil (tsan_absl.cpp) and the
# hand-overs of its gRPC (tsan_grpc.cpp).
file(STRINGS /usr/include/absl/base/options.h name_line REGEX "^#define ABSL_OPTION_INLINE_NAMESPACE_NAME ")
string(REGEX REPLACE ".*NAMESPACE_NAME +" "" absl_namespace "${name_line}")
if(NOT absl_namespace)
  message(FATAL_ERROR "tsan: Abseil's inline namespace was not found in /usr/include/absl/base/options.h")
endif()
string(LENGTH ${absl_namespace} absl_namespace_length)
set(absl_mangled 4absl${absl_namespace_length}${absl_namespace})

add_library(remora_tsan STATIC ${PROJECT_SOURCE_DIR}/cmake/tsan_absl.cpp ${PROJECT_SOURCE_DIR}/cmake/tsan_grpc.cpp)
target_compile_definitions(remora_tsan PRIVATE REMORA_ABSL_MANGLED="${absl_mangled}")
target_compile_options(remora_tsan PRIVATE -fno-sanitize=thread)
foreach(symbol
    _ZN${absl_mangled}5Mutex4LockEv
    _ZN${absl_mangled}5Mutex6UnlockEv
    _ZN${absl_mangled}5Mutex5AwaitERKNS0_9ConditionE
    _ZN${absl_mangled}5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
    _ZN${absl_mangled}12Notification6NotifyEv
    _ZNK${absl_mangled}12Notification19WaitForNotificationEv
    _ZNK${absl_mangled}12Notification30WaitForNotificationWithTimeoutENS0_8DurationE)
  add_link_options(-Wl,--wrap=${symbol})
endforeach()
# What only a shared library refers to is not taken out of an archive unasked.
add_link_options(-Wl,-u,grpc_call_start_batch)
link_libraries(remora_tsan)
