#include "client/io/idx_format.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const remora::fuzz::MemoryFile input(data, size);
  remora::fuzz::check_fair(remora::io::read_idx(input.path()).status());
  return 0;
}
