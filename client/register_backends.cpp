// The backends of a program that links the library: what was built, by explicit calls.
#include "kernels/register_backends.h"
#include "dispatch/registry.h"
#if REMORA_REMOTE
#include "client/remote/register.h"
#endif

namespace remora::dispatch {

void register_backends(Registry& registry) {
  register_local_backends(registry);
#if REMORA_REMOTE
  remote::register_remote_backend(registry);
#endif
}

}  // namespace remora::dispatch
