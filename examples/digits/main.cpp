// Trains a small CNN on handwritten digits: first on a worker over gRPC, then on this machine's
// CPU, from the same seed, and compares the two. The worker is one this program starts, or the
// device that REMORA_DEVICE names. `digits [TABLE]`: another place for the data.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "examples/digits/digits_data.h"
#include "examples/digits/table.h"
#include "examples/digits/training.h"
#include "remora/remora.h"
#if REMORA_REMOTE
#include "client/remote/private_worker.h"
#endif

namespace remora::digits {
namespace {

constexpr double kWantedAccuracy = 0.96;

/// One line on stderr that is written over; silent unless stderr is a terminal.
Progress show_progress(const std::string& device) {
  return [device](int epoch, int epochs, float loss) {
    if (isatty(STDERR_FILENO) == 0) return;
    std::fprintf(stderr, "\r%s: epoch %d of %d, loss %.4f ", device.c_str(), epoch, epochs,
                 static_cast<double>(loss));
    if (epoch == epochs) std::fputs("\r\033[K", stderr);
  };
}

int run(const std::filesystem::path& table) {
  const DigitsData data = load_digits(table);
  const char* chosen = std::getenv("REMORA_DEVICE");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
#if REMORA_REMOTE
  std::unique_ptr<remote::PrivateWorker> worker;
  if (!is_chosen) worker = value_or_throw(remote::PrivateWorker::start({}));
  const Device remote =
      is_chosen ? Device::parse(chosen) : Device::remote(worker->address(), "cpu");
#else
  if (!is_chosen) {
    throw Error(absl::FailedPreconditionError(
        "this build has no remote devices; REMORA_DEVICE must name the device to train on"));
  }
  const Device remote = Device::parse(chosen);
#endif
  const Device local = Device::cpu();
  const TrainingResult on_worker = train(remote, data, show_progress(remote.str()));
  const TrainingResult on_cpu = train(local, data, show_progress(local.str()));

  const Agreement agreement = compare_losses(on_worker, on_cpu);
  std::fputs(format_table(on_worker, on_cpu, agreement).c_str(), stdout);
  bool good = agreement != Agreement::kNo;
  for (const TrainingResult* result : {&on_worker, &on_cpu}) {
    if (result->accuracy >= kWantedAccuracy) continue;
    std::fprintf(stderr, "digits: %s reached %.2f %%, less than the %.0f %% wanted\n",
                 result->device.str().c_str(), 100 * result->accuracy, 100 * kWantedAccuracy);
    good = false;
  }
  if (agreement == Agreement::kNo) {
    std::fputs("digits: the losses differ though the devices' fingerprints are equal\n", stderr);
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace remora::digits

int main(int argc, char** argv) {
  try {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
      std::fputs("usage: digits [TABLE]   (digits.csv.gz; without it, the checkout's)\n", stderr);
      return 2;
    }
    return remora::digits::run(argc == 2 ? argv[1]
                                         : REMORA_SOURCE_DIR "/examples/data/digits.csv.gz");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
