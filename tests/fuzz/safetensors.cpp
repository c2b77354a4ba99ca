#include "client/io/safetensors_file.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const remora::fuzz::MemoryFile input(data, size);
  const auto file = remora::io::SafetensorsFile::open(input.path());
  remora::fuzz::check_fair(file.status());
  if (!file.ok()) return 0;
  for (const auto& tensor : file->tensors()) remora::fuzz::check_fair(file->read(tensor).status());
  return 0;
}
