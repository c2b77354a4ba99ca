#include "client/io/numpy_files.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const remora::fuzz::MemoryFile input(data, size);
  remora::fuzz::check_fair(remora::io::read_npy_file(input.path()).status());
  return 0;
}
