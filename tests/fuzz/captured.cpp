#include "client/io/captured_file.h"
#include "tests/fuzz/memory_file.h"

// The input is a file, and also the graph's encoding alone, which no checksum keeps from the
// decoder.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const remora::fuzz::MemoryFile input(data, size);
  remora::fuzz::check_fair(remora::io::read_captured(input.path()).status());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto program = remora::dispatch::decode_program(bytes);
  remora::fuzz::check_fair(program.status());
  if (program.ok() && remora::dispatch::encode_program(*program) != bytes) abort();
  return 0;
}
