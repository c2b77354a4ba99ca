// What `remora` returns to the shell; the same text is in its --help. Constants only.
#pragma once

namespace remora::cli {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  // `ping` names the layer that failed.
  kNoName = 10,
  kNoConnection = 11,
  kNoWorker = 12,
  kNoToken = 13,
  kNoVersion = 14,
  kNoTls = 15,
};

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 done; 1 failed, the reason is on stderr; 2 a mistake on the command line.\n"
    "ping: 10 the name does not resolve; 11 nothing listens there; 12 what listens is no working "
    "worker;\n"
    "13 the token is missing or wrong; 14 the worker speaks other protocol versions;\n"
    "15 TLS: a certificate is wrong or missing on either side, or one side does not speak TLS.";

}  // namespace remora::cli
