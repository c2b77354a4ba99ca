// A program that brings its own set of backends, here none: it defines `register_backends`, so the
// library's is not linked.
#include <cstdio>
#include <string>

#include <remora/dispatch/registry.h>
#include <remora/remora.h>

void remora::dispatch::register_backends(Registry& /*registry*/) {}

int main() {
  try {
    (void)remora::zeros({2}, remora::Device::cpu()).item<float>();
  } catch (const remora::Error& error) {
    std::printf("%s\n", error.what());
    return error.code() == absl::StatusCode::kUnimplemented ? 0 : 1;
  }
  std::fprintf(stderr, "own_backends: a device of a backend that was never registered worked\n");
  return 1;
}
