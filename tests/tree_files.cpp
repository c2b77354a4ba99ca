#include "tests/tree_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace remora::tree {
namespace {

namespace fs = std::filesystem;

constexpr std::array kExtensions = {".h", ".cpp", ".def", ".inc", ".cu", ".cuh", ".comp", ".glsl"};
constexpr std::array kSkippedFolders = {"build", "vectors", "data"};

template <typename List>
bool contains(const List& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

// The position after the literal or comment that starts at `begin`, or `begin` if none starts
// there.
size_t skip_non_code(std::string_view text, size_t begin) {
  auto after = [&](std::string_view end, size_t from) {
    const size_t at = text.find(end, from);
    return at == std::string_view::npos ? text.size() : at + end.size();
  };
  const std::string_view rest = text.substr(begin);
  if (rest.starts_with("//")) return std::min(text.find('\n', begin), text.size());
  if (rest.starts_with("/*")) return after("*/", begin + 2);
  if (rest.starts_with("R\"")) {
    const size_t open = text.find('(', begin);
    if (open == std::string_view::npos) return text.size();
    const std::string delimiter(text.substr(begin + 2, open - begin - 2));
    return after(")" + delimiter + "\"", open);
  }
  const bool is_digit_separator =
      begin > 0 && std::isxdigit(static_cast<unsigned char>(text[begin - 1]));
  if (rest[0] == '"' || (rest[0] == '\'' && !is_digit_separator)) {
    size_t at = begin + 1;
    while (at < text.size() && text[at] != rest[0] && text[at] != '\n')
      at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
  }
  return begin;
}

}  // namespace

std::vector<SourceFile> source_files() {
  const fs::path root = REMORA_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      if (name.starts_with(".") || contains(kSkippedFolders, name))
        entry.disable_recursion_pending();
    } else if (contains(kExtensions, entry->path().extension().string())) {
      files.push_back(
          {entry->path().lexically_relative(root).generic_string(), read(entry->path())});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string code_of(const std::string& text) {
  std::string code = text;
  for (size_t at = 0; at < text.size();) {
    const size_t end = skip_non_code(text, at);
    for (size_t i = at; i < end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    at = std::max(end, at + 1);
  }
  return code;
}

}  // namespace remora::tree
