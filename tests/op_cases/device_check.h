// The op case table as something a user runs: every operation on the devices of the machine at
// hand, compared with the slow reference. It needs no files and no test framework.
#pragma once

#include <string>

#include "dispatch/device.h"
#include "tests/op_cases/op_case.h"

namespace remora::test {

/// Runs the case on `device`. Empty if its results are the reference's within the row's tolerance;
/// else what is not, or the error it ended with.
std::string reference_difference(const Device& device, const OpCase& op_case);

/// `remora self-test` with these arguments; returns its exit code: 0, 1 if a result differs or a
/// device cannot be used, 2 for a mistake on the command line.
int run_self_test(int argc, char** argv);

}  // namespace remora::test
