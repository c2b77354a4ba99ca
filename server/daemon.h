// The whole worker as a function: from the command line to a served worker, and down again at
// SIGTERM, SIGINT or, where it is asked to, the end of its parent. It owns the process: its
// signals, its default logger and every file descriptor past stderr.
#pragma once

namespace remora::server {

/// `remorad` with these arguments; returns its exit code when it has drained. Called from `main`,
/// before any other thread is started.
int run_daemon(int argc, char** argv);

}  // namespace remora::server
