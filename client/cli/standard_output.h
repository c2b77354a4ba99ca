// Whether what was printed has arrived.
#pragma once

namespace remora::cli {

/// Flushes stdout. False if anything printed on it was lost, as on a full disk.
bool is_stdout_written();

}  // namespace remora::cli
