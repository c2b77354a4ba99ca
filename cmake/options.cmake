# What is built. A backend's option is AUTO (built when its packages are found), ON (an error when they are not)
# or OFF; the rest of the build reads only REMORA_HAVE_*, set here and in dependencies.cmake.

function(remora_tristate name description)
  set(${name} AUTO CACHE STRING "${description}: AUTO, ON or OFF")
  set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${${name}}" value)
  if(value MATCHES "^(1|TRUE|YES|Y)$")
    set(value ON)
  elseif(value MATCHES "^(0|FALSE|NO|N)$")
    set(value OFF)
  elseif(NOT value MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${name} is '${${name}}'; it must be AUTO, ON or OFF")
  endif()
  set(${name} ${value} PARENT_SCOPE)
endfunction()

remora_tristate(REMORA_CPU "The cpu backend")
remora_tristate(REMORA_CUDA "The cuda backend")
remora_tristate(REMORA_VULKAN "The vulkan backend")
remora_tristate(REMORA_REMOTE "The remote backend (devices of a worker, over gRPC)")
remora_tristate(REMORA_BUILD_SERVER "The worker daemon remorad (needs the remote backend and a local one)")

remora_tristate(REMORA_ZIP "Archives of arrays (.npz), with libzip")

foreach(backend CUDA VULKAN)
  if(REMORA_${backend} STREQUAL "ON")
    message(FATAL_ERROR "REMORA_${backend}=ON: the ${backend} backend is not in this version yet; "
      "leave it AUTO or OFF")
  endif()
  set(REMORA_HAVE_${backend} OFF)
endforeach()

option(REMORA_BUILD_TESTS "Build the tests" ${REMORA_TOP_LEVEL})
option(REMORA_BUILD_EXAMPLES "Build examples/" ${REMORA_TOP_LEVEL})
option(REMORA_STATIC "Programs need nothing but glibc: every other library is linked statically" OFF)
option(REMORA_MULTI_CALL "bin/remora contains the worker, the self test and the conformance run as well (needs tests)"
  ${REMORA_STATIC})
option(REMORA_PCH "Precompile the headers of Abseil and the standard library" ON)
option(BUILD_SHARED_LIBS "The library is libremora.so instead of libremora.a" OFF)
option(REMORA_INSTALL "Rules for `cmake --install` and cpack" ${REMORA_TOP_LEVEL})
option(REMORA_WERROR "Warnings are errors" ${REMORA_TOP_LEVEL})
set(REMORA_SANITIZE "" CACHE STRING "Sanitizers: empty, address (with undefined), thread or fuzzer")
set_property(CACHE REMORA_SANITIZE PROPERTY STRINGS "" address thread fuzzer)
