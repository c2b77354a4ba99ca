#include "client/tensor.h"

namespace consumer {

std::string greeting() { return "the consumer's own client/tensor.h"; }

}  // namespace consumer
