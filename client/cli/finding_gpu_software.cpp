#include <dlfcn.h>

#include <climits>
#include <filesystem>
#include <fstream>

#include "client/cli/findings.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"

namespace remora::cli {
namespace {

namespace fs = std::filesystem;

/// A shared library that a backend opens at run time.
struct GpuLibrary {
  const char* id;
  std::initializer_list<const char*> names;  // any of them will do
  const char* remedy;
};

const GpuLibrary kLibraries[] = {
    {"cuda-driver",
     {"libcuda.so.1"},
     "install NVIDIA's driver (apt-get install nvidia-driver); in a container run it with --gpus "
     "all (docker) or --device nvidia.com/gpu=all (podman)"},
    {"cublas", {"libcublasLt.so.13", "libcublasLt.so.12"}, "install CUDA's libcublas"},
    {"nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12"}, "install CUDA's cuda-nvrtc"},
    {"cudnn", {"libcudnn.so.9"}, "install cuDNN 9 (libcudnn9-cuda-13)"},
    {"nccl", {"libnccl.so.2"}, "install libnccl2"},
    {"vulkan-loader", {"libvulkan.so.1"}, "apt-get install libvulkan1"},
};

Finding find_library(const GpuLibrary& library) {
  std::string tried;
  for (const char* name : library.names) {
    // It stays loaded: unloading does not give back what such a library allocated at its start.
    void* const handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      tried += str_cat(tried.empty() ? "" : ", ", name);
      continue;
    }
    std::string path(PATH_MAX, '\0');
    const bool known = dlinfo(handle, RTLD_DI_ORIGIN, path.data()) == 0;
    return {library.id, FindingState::kOk, known ? str_cat(path.c_str(), "/", name) : name, ""};
  }
  return {library.id, FindingState::kAbsent, str_cat(tried, " is not found"), library.remedy};
}

Finding find_nvidia_kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  if (std::getline(file, line)) return {"nvidia-module", FindingState::kOk, line, ""};
  return {"nvidia-module", FindingState::kAbsent, "the kernel module nvidia is not loaded",
          "install NVIDIA's driver and load it: modprobe nvidia"};
}

/// The installable client drivers that the Vulkan loader would find, one finding each.
std::vector<Finding> find_vulkan_drivers() {
  std::vector<fs::path> files;
  for (const char* folder :
       {"/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::vector<Finding> findings;
  for (const fs::path& file : files) {
    std::ifstream stream(file);
    const auto manifest = nlohmann::json::parse(stream, nullptr, false);
    const bool readable = manifest.is_object() && manifest.contains("ICD") &&
                          manifest["ICD"].is_object() &&
                          !manifest["ICD"].value("library_path", "").empty();
    if (!readable) {
      findings.push_back({"vulkan-driver", FindingState::kProblem,
                          str_cat(file.string(), " is no manifest of a driver"),
                          "reinstall the package that owns it (dpkg -S FILE)"});
      continue;
    }
    findings.push_back(
        {"vulkan-driver", FindingState::kOk,
         str_cat(manifest["ICD"].value("library_path", ""), " (", file.string(), ")"), ""});
  }
  if (findings.empty()) {
    findings.push_back({"vulkan-driver", FindingState::kAbsent, "no driver is installed",
                        "install the GPU's driver; for a software one: apt-get install "
                        "mesa-vulkan-drivers"});
  }
  return findings;
}

}  // namespace

std::vector<Finding> find_gpu_software() {
  std::vector<Finding> findings{find_nvidia_kernel_module()};
  for (const GpuLibrary& library : kLibraries) findings.push_back(find_library(library));
  for (Finding& driver : find_vulkan_drivers()) findings.push_back(std::move(driver));
  return findings;
}

}  // namespace remora::cli
