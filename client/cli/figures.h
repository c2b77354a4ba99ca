// Figures of a benchmark and their JSON form: {"suite", "device", "machine", "build", "figures":
// {KEY: {"median", "min", "max", "n"}}}. Not thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remora::cli {

double microseconds_since(std::chrono::steady_clock::time_point begin);

/// The middle of the samples (the lower one of two). Requires at least one.
double median(std::vector<double> samples);

/// Samples by key, in the order in which keys were first seen.
class Figures {
 public:
  void add(std::string_view key, double sample);
  const std::vector<double>& samples(std::string_view key) const;
  std::string json(std::string_view suite, std::string_view device) const;
  /// One key a line, for people.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::vector<double>>> samples_;
};

}  // namespace remora::cli
