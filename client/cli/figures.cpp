#include "client/cli/figures.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "client/cli/machine.h"
#include "dispatch/build_info.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"

namespace remora::cli {
namespace {

std::string machine() {
  std::string model = value_in("/proc/cpuinfo", "model name");
  if (model.empty()) model = "unknown processor";
  utsname system{};
  uname(&system);
  return str_cat(model, ", ", std::thread::hardware_concurrency(), " cores, ", system.sysname, " ",
                 system.release);
}

}  // namespace

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<ptrdiff_t>((samples.size() - 1) / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

void Figures::add(std::string_view key, double sample) {
  auto entry = std::find_if(samples_.begin(), samples_.end(),
                            [&](const auto& each) { return each.first == key; });
  if (entry == samples_.end()) entry = samples_.insert(entry, {std::string(key), {}});
  entry->second.push_back(sample);
}

const std::vector<double>& Figures::samples(std::string_view key) const {
  static const std::vector<double> none;
  const auto entry = std::find_if(samples_.begin(), samples_.end(),
                                  [&](const auto& each) { return each.first == key; });
  return entry == samples_.end() ? none : entry->second;
}

std::string Figures::json(std::string_view suite, std::string_view device) const {
  nlohmann::ordered_json figures = nlohmann::ordered_json::object();
  for (const auto& [key, samples] : samples_) {
    const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
    figures[key] = {
        {"median", median(samples)}, {"min", *low}, {"max", *high}, {"n", samples.size()}};
  }
  const nlohmann::ordered_json report = {{"suite", suite},
                                         {"device", device},
                                         {"machine", machine()},
                                         {"build", dispatch::build_fingerprint()},
                                         {"figures", figures}};
  // Names may come from a worker: what is not UTF-8 is replaced, never thrown over.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string Figures::text() const {
  std::string out;
  for (const auto& [key, samples] : samples_) {
    const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
    char line[160];
    std::snprintf(line, sizeof line, "%-28s %12.3f  (%.3f to %.3f, n = %zu)\n", key.c_str(),
                  median(samples), *low, *high, samples.size());
    out += line;
  }
  return out;
}

}  // namespace remora::cli
