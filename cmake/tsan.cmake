# The tsan preset: makes ThreadSanitizer see the locks of a distribution's uninstrumented Abseil (tsan_absl.cpp).
file(STRINGS /usr/include/absl/base/options.h name_line REGEX "^#define ABSL_OPTION_INLINE_NAMESPACE_NAME ")
string(REGEX REPLACE ".*NAMESPACE_NAME +" "" absl_namespace "${name_line}")
if(NOT absl_namespace)
  message(FATAL_ERROR "tsan: Abseil's inline namespace was not found in /usr/include/absl/base/options.h")
endif()
string(LENGTH ${absl_namespace} absl_namespace_length)
set(absl_mangled 4absl${absl_namespace_length}${absl_namespace})

add_library(remora_tsan_absl STATIC ${PROJECT_SOURCE_DIR}/cmake/tsan_absl.cpp)
target_compile_definitions(remora_tsan_absl PRIVATE REMORA_ABSL_MANGLED="${absl_mangled}")
target_compile_options(remora_tsan_absl PRIVATE -fno-sanitize=thread)
foreach(symbol
    _ZN${absl_mangled}5Mutex4LockEv
    _ZN${absl_mangled}5Mutex6UnlockEv
    _ZN${absl_mangled}5Mutex5AwaitERKNS0_9ConditionE
    _ZN${absl_mangled}5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
    _ZN${absl_mangled}12Notification6NotifyEv
    _ZNK${absl_mangled}12Notification19WaitForNotificationEv)
  add_link_options(-Wl,--wrap=${symbol})
endforeach()
link_libraries(remora_tsan_absl)
