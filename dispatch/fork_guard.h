// After fork() the child has none of the parent's threads, and its connections are the parent's:
// every use of a device there fails with a typed error instead of hanging.
#pragma once

namespace remora::dispatch {

/// True in a process that was forked after the first device was opened.
bool in_forked_child();
/// Starts watching for forks; called when the registry is made.
void watch_forks();
/// Throws FAILED_PRECONDITION in such a child.
void throw_if_forked();

}  // namespace remora::dispatch
