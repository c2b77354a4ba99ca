#include "client/io/numpy_files.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const remora::fuzz::MemoryFile input(data, size);
  const auto file = remora::io::NpzFile::open(input.path());
  remora::fuzz::check_fair(file.status());
  if (!file.ok()) return 0;
  for (size_t i = 0; i < file->names().size(); ++i) {
    remora::fuzz::check_fair(file->read(i).status());
  }
  return 0;
}
