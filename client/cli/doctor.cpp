#include "client/cli/doctor.h"

#include <algorithm>
#include <cstdio>

#include "client/cli/exit_codes.h"
#include "client/cli/findings.h"
#include "dispatch/build_info.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"

namespace remora::cli {
namespace {

struct Section {
  std::string_view name;
  std::vector<Finding> findings;
};

std::vector<Section> examine() {
  std::vector<Section> sections;
  sections.push_back({"devices", find_devices()});
  sections.push_back({"processor", find_processor()});
  sections.push_back({"gpu software", find_gpu_software()});
  sections.push_back({"configuration", find_configuration()});
  return sections;
}

void print_json(const std::vector<Section>& sections, bool healthy) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Section& section : sections) {
    for (const Finding& finding : section.findings) {
      findings.push_back({{"section", section.name},
                          {"id", finding.id},
                          {"state", state_name(finding.state)},
                          {"detail", finding.detail},
                          {"remedy", finding.remedy}});
    }
  }
  const nlohmann::ordered_json report = {
      {"ok", healthy}, {"build", dispatch::build_fingerprint()}, {"findings", findings}};
  std::printf("%s\n",
              report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void print_text(const std::vector<Section>& sections, bool healthy) {
  std::printf("%s\n", std::string(dispatch::build_fingerprint()).c_str());
  for (const Section& section : sections) {
    std::printf("\n%s\n", std::string(section.name).c_str());
    for (const Finding& finding : section.findings) {
      std::printf("  %-8s %-18s %s\n", std::string(state_name(finding.state)).c_str(),
                  finding.id.c_str(), finding.detail.c_str());
      if (!finding.remedy.empty()) std::printf("  %-27s -> %s\n", "", finding.remedy.c_str());
    }
  }
  std::printf("\n%s\n", healthy ? "No problem was found. What is absent is optional."
                                : "Problems were found; docs/troubleshooting.md has a section for "
                                  "each name.");
}

}  // namespace

int doctor(const DoctorOptions& options) {
  const std::vector<Section> sections = examine();
  const bool healthy = std::all_of(sections.begin(), sections.end(), [](const Section& section) {
    return std::none_of(
        section.findings.begin(), section.findings.end(),
        [](const Finding& finding) { return finding.state == FindingState::kProblem; });
  });
  if (options.json) {
    print_json(sections, healthy);
  } else {
    print_text(sections, healthy);
  }
  return healthy ? kOk : kFailed;
}

}  // namespace remora::cli
