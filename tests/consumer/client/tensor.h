// The consumer's own header, named like one of the library's: neither may be taken for the other.
#pragma once

#include <string>

namespace consumer {

std::string greeting();

}  // namespace consumer
