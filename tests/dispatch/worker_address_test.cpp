#include "dispatch/worker_address.h"

#include "gtest/gtest.h"

namespace remora::test {
namespace {

using dispatch::parse_worker_address;
using dispatch::PortRange;

TEST(WorkerAddress, text_round_trips) {
  for (const char* text : {"127.0.0.1:7070", "gpu-box:1", "localhost:65535", "[::1]:80",
                           "[fe80::1%eth0]:7070", "unix:/run/remora.sock", "unix:relative"}) {
    const auto address = parse_worker_address(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->str(), text);
  }
  EXPECT_EQ(parse_worker_address("unix:///run/remora.sock")->str(), "unix:/run/remora.sock");
}

TEST(WorkerAddress, what_is_none_is_refused_with_what_is_right) {
  for (const std::string& text :
       {std::string(), std::string("7070"), std::string(":7070"), std::string("host"),
        std::string("host:"), std::string("host:70700"), std::string("host:7x"),
        std::string("host:-1"), std::string("host:+1"), std::string("host: 1"),
        std::string("::1:80"), std::string("[]:80"), std::string("[host]:80"),
        std::string("a b:80"), std::string("user@host:80"), std::string("http://a:1"),
        std::string("unix:"), "unix:/" + std::string(200, 'x'), std::string(300, 'h') + ":80"}) {
    const absl::Status status = parse_worker_address(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("unix"), std::string::npos) << status;
  }
}

TEST(WorkerAddress, port_0_is_for_those_who_listen) {
  EXPECT_FALSE(parse_worker_address("host:0").ok());
  EXPECT_TRUE(parse_worker_address("host:0", PortRange::kFromZero).ok());
}

TEST(WorkerAddress, local_is_what_other_machines_cannot_reach) {
  for (const char* text : {"127.0.0.1:1", "127.3.2.1:1", "localhost:1", "[::1]:1", "unix:/x"}) {
    EXPECT_TRUE(parse_worker_address(text)->is_local()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "127.evil.example:1", "host:1"}) {
    EXPECT_FALSE(parse_worker_address(text)->is_local()) << text;
  }
}

}  // namespace
}  // namespace remora::test
