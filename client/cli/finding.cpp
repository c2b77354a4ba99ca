#include "client/cli/findings.h"

namespace remora::cli {

std::string_view state_name(FindingState state) {
  switch (state) {
    case FindingState::kOk:
      return "ok";
    case FindingState::kAbsent:
      return "absent";
    case FindingState::kProblem:
      return "problem";
  }
  return "problem";
}

}  // namespace remora::cli
