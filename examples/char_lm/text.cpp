#include "examples/char_lm/text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace remora::char_lm {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMaxText + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad() || !file.is_open()) throw std::runtime_error("cannot read " + path.string());
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (bytes.size() > kMaxText) {
    throw std::runtime_error(path.string() + " has more than " + std::to_string(kMaxText) +
                             " characters");
  }
  return bytes;
}

}  // namespace

std::string read_text(const std::string& path) {
  if (!path.empty()) return read_file(path);
  const std::filesystem::path folder = REMORA_SOURCE_DIR "/docs";
  if (!std::filesystem::is_directory(folder)) {
    throw std::runtime_error("--text is needed: " + folder.string() + " is not there");
  }
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  std::string text;
  for (const auto& page : pages) text += read_file(page);
  return text;
}

}  // namespace remora::char_lm
