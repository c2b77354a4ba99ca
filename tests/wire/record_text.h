// Records as text, so that tests compare them and say where they differ. Names every field of every
// record.
#pragma once

#include <string>

#include "proto/records.h"

namespace remora::wire {

std::string record_text(const Record& record);

}  // namespace remora::wire
