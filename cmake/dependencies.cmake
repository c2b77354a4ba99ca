# Every package the build uses is looked for here. Their headers are SYSTEM headers: our warnings stay ours.

find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(ZLIB REQUIRED)  # client/io reads gzipped files
find_package(nlohmann_json CONFIG REQUIRED)

# zip: what client/io reads and writes .npz with. Debian has it as a shared library only, so a static build goes without.
set(REMORA_HAVE_ZIP OFF)
if(REMORA_ZIP STREQUAL "ON" OR (REMORA_ZIP STREQUAL "AUTO" AND NOT REMORA_STATIC))
  pkg_check_modules(libzip QUIET IMPORTED_TARGET libzip)
  if(libzip_FOUND)
    set(REMORA_HAVE_ZIP ON)
  elseif(REMORA_ZIP STREQUAL "ON")
    message(FATAL_ERROR "REMORA_ZIP=ON needs libzip (Debian: libzip-dev); pkg-config finds no libzip")
  endif()
endif()

# cpu: any OpenBLAS with a CBLAS interface, and KISS FFT, which is a header.
set(REMORA_HAVE_CPU OFF)
if(NOT REMORA_CPU STREQUAL "OFF")
  pkg_check_modules(openblas IMPORTED_TARGET openblas)
  find_path(REMORA_KISSFFT kissfft/kissfft.hh)
  mark_as_advanced(REMORA_KISSFFT)
  if(openblas_FOUND AND REMORA_KISSFFT)
    set(REMORA_HAVE_CPU ON)
  elseif(REMORA_CPU STREQUAL "ON")
    message(FATAL_ERROR "REMORA_CPU=ON needs OpenBLAS and KISS FFT (Debian: libopenblas-dev libkissfft-dev); pkg-config "
      "finds openblas '${openblas_VERSION}', kissfft/kissfft.hh is in '${REMORA_KISSFFT}'")
  endif()
endif()

# remote: gRPC, by its CMake package or by pkg-config, and protoc with gRPC's plugin.
set(REMORA_HAVE_REMOTE OFF)
if(NOT REMORA_REMOTE STREQUAL "OFF")
  find_package(Protobuf CONFIG QUIET)
  if(NOT Protobuf_FOUND)
    find_package(Protobuf QUIET)
  endif()
  find_package(gRPC CONFIG QUIET)
  if(gRPC_FOUND AND TARGET gRPC::grpc++)
    set(REMORA_GRPC gRPC::grpc++)
  else()
    pkg_check_modules(grpcpp QUIET IMPORTED_TARGET grpc++)
    if(grpcpp_FOUND)
      set(REMORA_GRPC PkgConfig::grpcpp)
    endif()
  endif()
  # TLS and token hashes; gRPC needs it too.
  find_package(OpenSSL QUIET)
  if(TARGET gRPC::grpc_cpp_plugin)
    set(REMORA_GRPC_PLUGIN $<TARGET_FILE:gRPC::grpc_cpp_plugin>)
  else()
    find_program(REMORA_GRPC_PLUGIN_PATH grpc_cpp_plugin)
    set(REMORA_GRPC_PLUGIN ${REMORA_GRPC_PLUGIN_PATH})
  endif()
  if(TARGET protobuf::libprotobuf AND TARGET protobuf::protoc AND REMORA_GRPC AND REMORA_GRPC_PLUGIN AND OpenSSL_FOUND)
    set(REMORA_HAVE_REMOTE ON)
  elseif(REMORA_REMOTE STREQUAL "ON")
    message(FATAL_ERROR "REMORA_REMOTE=ON needs gRPC and protobuf with their compilers, and OpenSSL (Debian: libgrpc++-dev "
      "libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libssl-dev); found protobuf '${Protobuf_VERSION}', "
      "gRPC '${REMORA_GRPC}', plugin '${REMORA_GRPC_PLUGIN}', OpenSSL '${OPENSSL_VERSION}'")
  endif()
endif()

set(REMORA_HAVE_SERVER OFF)
if(NOT REMORA_BUILD_SERVER STREQUAL "OFF")
  if(REMORA_HAVE_REMOTE AND (REMORA_HAVE_CPU OR REMORA_HAVE_CUDA OR REMORA_HAVE_VULKAN))
    set(REMORA_HAVE_SERVER ON)
  elseif(REMORA_BUILD_SERVER STREQUAL "ON")
    message(FATAL_ERROR "REMORA_BUILD_SERVER=ON: a worker needs REMORA_REMOTE and a backend with devices of its own")
  endif()
endif()

if(NOT REMORA_HAVE_CPU AND NOT REMORA_HAVE_REMOTE)
  message(FATAL_ERROR "no backend would be built: REMORA_CPU is ${REMORA_CPU}, REMORA_REMOTE is ${REMORA_REMOTE}")
endif()

# What the programs (the tool, the worker, examples, tests) use besides.
find_package(CLI11 CONFIG REQUIRED)
set(REMORA_PROGRAM_LIBRARIES CLI11::CLI11 nlohmann_json::nlohmann_json)
if(REMORA_HAVE_SERVER)
  find_package(spdlog CONFIG REQUIRED)
  set(REMORA_SPDLOG spdlog::spdlog)
  pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
endif()

if(REMORA_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(rapidcheck CONFIG QUIET)
endif()

if(REMORA_STATIC)
  include(cmake/static_dependencies.cmake)
endif()
