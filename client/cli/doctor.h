// `remora doctor`: what this machine has for Remora, what is missing, and the command that brings
// it. Runs on the calling thread.
#pragma once

namespace remora::cli {

struct DoctorOptions {
  bool json = false;
};

/// Prints every finding. Returns kOk, or kFailed where one is a problem: what is merely absent is
/// none.
int doctor(const DoctorOptions& options);

}  // namespace remora::cli
