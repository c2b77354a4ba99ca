// Execution of one window on a device: as one plan, or op by op where the plan cannot run whole.
// Either way the same outputs are fulfilled and the same ones poisoned. Called by the executor's
// current runner only.
#pragma once

#include "dispatch/executor.h"

namespace remora::dispatch {

/// Runs `run` and settles all its live outputs.
void execute_window(Backend& backend, PlanCache& plans, WindowRun& run);

/// Settles every output of a window that will not run.
void poison_window(WindowRun& run, const absl::Status& reason);

}  // namespace remora::dispatch
