// Runs one case on one device: the call, its answers, its gradients, or its refusal.
#pragma once

#include <cstdint>
#include <string>

#include "tests/opinfo/cases.h"
#include "tests/opinfo/torch_table.h"

namespace remora::opinfo {

enum class Verdict : uint8_t { kPassed, kFailed, kUnsupported };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string reason;        // why it did not pass
  uint64_t answer_hash = 0;  // of the bits of every answer and gradient; 0 where there are none
  bool lacks_op = false;     // unsupported for want of the operator, not of an element type
};

class Runner {
 public:
  /// Both must outlive the runner.
  Runner(const TorchTable& table, const io::SafetensorsFile& tensors, const Device& device)
      : table_(table), tensors_(tensors), device_(device) {}

  /// Never throws: whatever the library throws becomes the outcome.
  Outcome run(const Case& sample) const;

 private:
  struct Run;
  Outcome run_answer(const Case& sample) const;
  Outcome run_error(const Case& sample) const;
  /// The name of an element type that the case uses and the device lacks; empty if there is none.
  std::string missing_dtype(const Case& sample) const;

  const TorchTable& table_;
  const io::SafetensorsFile& tensors_;
  const Device device_;
};

}  // namespace remora::opinfo
