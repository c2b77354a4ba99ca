// Tensors in host memory on their way to or from a file. Plain values.
#pragma once

#include <map>
#include <string>

#include "dispatch/buffer.h"

namespace remora::io {

struct NamedData {
  std::string name;
  dispatch::HostData data;
};

/// What a file says about itself: text by key.
using Metadata = std::map<std::string, std::string>;

}  // namespace remora::io
