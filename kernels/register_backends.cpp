#include "kernels/register_backends.h"

#if REMORA_CPU
#include "kernels/cpu/register.h"
#endif

namespace remora {

void register_local_backends([[maybe_unused]] dispatch::Registry& registry) {
#if REMORA_CPU
  registry.add(BackendKind::kCpu, cpu::backend_factory());
#endif
}

}  // namespace remora
