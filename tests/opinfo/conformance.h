// The conformance run as a function: samples of PyTorch's operators on a device, and which of them
// are answered as PyTorch answers them. README.md describes its options and its table.
#pragma once

namespace remora::opinfo {

/// `opinfo_conformance` with these arguments; returns its exit code. One call per process.
int run_conformance(int argc, char** argv);

}  // namespace remora::opinfo
