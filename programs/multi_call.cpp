// The multi-call binary: `remora worker`, `remora self-test`, `remora opinfo` and the tool's own
// commands in one file. Called `remorad` or `opinfo_conformance`, it is that program.
#include <unistd.h>

#include <string>

#include "client/cli/commands.h"
#include "client/remote/private_worker.h"
#include "server/daemon.h"
#include "tests/op_cases/device_check.h"
#include "tests/opinfo/conformance.h"

namespace {

constexpr remora::cli::Program kPrograms[] = {
    {"worker", "remorad", "Serve the devices of this machine: the daemon remorad",
     remora::server::run_daemon},
    {"self-test", "remora-self-test",
     "Compare every operation on every device, here and through a worker, with a reference",
     remora::test::run_self_test},
    {"opinfo", "opinfo_conformance", "Run samples of PyTorch's operators on a device",
     remora::opinfo::run_conformance},
};

/// This program's file. Without /proc, how it was called is the best guess.
std::string this_file(const char* called) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string(called);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 0) remora::remote::set_worker_program(this_file(argv[0]));
  return remora::cli::remora_main(argc, argv, kPrograms);
}
