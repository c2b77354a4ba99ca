#include "server/options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/listen_address.h"
#include "server/option_values.h"

namespace remora::server {
namespace {

using testing::HasSubstr;

ParsedOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "remorad");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, defaults_are_the_cpu_on_a_unix_socket) {
  const ParsedOptions parsed = parse({});
  ASSERT_TRUE(parsed.options.has_value()) << parsed.message;
  EXPECT_THAT(parsed.options->listen, HasSubstr("unix:/"));
  ASSERT_EQ(parsed.options->devices.size(), 1u);
  EXPECT_EQ(parsed.options->devices[0].index, 0);
  EXPECT_FALSE(parsed.options->insecure);
}

TEST(Options, every_flag_is_read) {
  const ParsedOptions parsed = parse(
      {"--listen", "127.0.0.1:0", "--devices", "cpu,cpu", "--memory-limit", "cpu=2GiB", "--threads",
       "3", "--session-quota", "1GiB", "--token-file", "t", "--insecure", "--exit-with-parent"});
  ASSERT_TRUE(parsed.options.has_value()) << parsed.message;
  EXPECT_EQ(parsed.options->devices.size(), 2u);
  EXPECT_EQ(parsed.options->devices[1].index, 1);
  EXPECT_EQ(parsed.options->memory_limit_bytes.at(BackendKind::kCpu), int64_t{2} << 30);
  EXPECT_EQ(parsed.options->session_quota_bytes, int64_t{1} << 30);
  EXPECT_EQ(parsed.options->threads, 3);
  EXPECT_EQ(parsed.options->token_file, "t");
  EXPECT_TRUE(parsed.options->insecure);
  EXPECT_EQ(parsed.options->parent, kAnyParent);
  EXPECT_EQ(parse({"--exit-with-parent=4711"}).options->parent, 4711);
  EXPECT_EQ(parse({}).options->parent, kNoParent);
}

TEST(Options, a_question_mark_makes_a_device_optional) {
  const ParsedOptions parsed = parse({"--devices", "cuda?,cuda:1?,cpu"});
  ASSERT_TRUE(parsed.options.has_value()) << parsed.message;
  ASSERT_EQ(parsed.options->devices.size(), 3u);
  EXPECT_EQ(parsed.options->devices[0].kind, BackendKind::kCuda);
  EXPECT_TRUE(parsed.options->devices[0].optional);
  EXPECT_EQ(parsed.options->devices[1].index, 1);
  EXPECT_TRUE(parsed.options->devices[1].optional);
  EXPECT_FALSE(parsed.options->devices[2].optional);
  EXPECT_EQ(parse({"--devices", "?"}).exit_code, 2);
}

TEST(Options, help_and_version_exit_with_0) {
  const ParsedOptions help = parse({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.message, HasSubstr("Examples:"));
  const ParsedOptions version = parse({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.message, HasSubstr("remorad "));
}

TEST(Options, mistakes_are_named_with_what_is_right) {
  const struct {
    std::vector<const char*> arguments;
    const char* part;
  } cases[] = {{{"--devices", "tpu"}, "--devices: 'tpu' is not a device"},
               {{"--devices", "cpu:x"}, "--devices: 'cpu:x'"},
               {{"--devices", "cpu:70000"}, "--devices: 'cpu:70000'"},
               {{"--devices", "cpu:-1"}, "'cpu:-1'"},
               {{"--devices", "cpu,"}, "--devices: '' is not"},
               {{"--devices", "cpu:1,cpu:1"}, "named twice"},
               {{"--devices", "remote"}, "'remote'"},
               {{"--memory-limit", "cpu:0=2GiB"}, "KIND=BYTES"},
               {{"--settings", "float=i64"}, "float=i64 is no float"},
               {{"--settings", "tf32"}, "'tf32' has no '='"},
               {{"--memory-limit", "2GiB"}, "KIND=BYTES"},
               {{"--memory-limit", ""}, "KIND=BYTES"},
               {{"--memory-limit", "cpu=1GiB,cpu=2GiB"}, "cpu has two limits"},
               {{"--listen", "nowhere"}, "nowhere"},
               {{"--memory-limit", "cpu=lots"}, "--memory-limit: 'lots' is not a number of bytes"},
               {{"--session-quota", "0"}, "--session-quota: '0' is not a number of bytes"},
               {{"--threads", "-1"}, "--threads"},
               {{"--memory-limit", "cuda=2GiB"}, "no cuda device is served"},
               {{"--idle-timeout", "soon"}, "--idle-timeout: 'soon' is not a time"},
               {{"--keepalive", "1ms"}, "--keepalive: '1ms' is too short"},
               {{"--identity-sessions", "0"}, "--identity-sessions: '0' is not a number"},
               {{"--log-level", "loud"}, "--log-level"},
               {{"--config", "/nowhere.toml"}, "--config: '/nowhere.toml' cannot be read"},
               {{"--frobnicate"}, "--frobnicate"}};
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.part);
    const ParsedOptions parsed = parse(wrong.arguments);
    EXPECT_FALSE(parsed.options.has_value());
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_THAT(parsed.message, HasSubstr(wrong.part));
  }
}

TEST(Options, bytes_have_units) {
  EXPECT_EQ(*parse_bytes("512"), 512);
  EXPECT_EQ(*parse_bytes("64KiB"), 65536);
  EXPECT_EQ(*parse_bytes("1.5 gib"), 1610612736);
  EXPECT_EQ(*parse_bytes("2GB"), 2'000'000'000);
  for (const char* wrong : {"", "GiB", "-1", "1XB", "1e30", "99999999TiB", "nan"}) {
    EXPECT_FALSE(parse_bytes(wrong).ok()) << wrong;
  }
}

TEST(Options, times_have_units) {
  EXPECT_EQ(parse_duration("500ms")->count(), 500);
  EXPECT_EQ(parse_duration("1.5s")->count(), 1500);
  EXPECT_EQ(parse_duration("10min")->count(), 600'000);
  EXPECT_EQ(parse_duration("24h")->count(), 86'400'000);
  EXPECT_EQ(parse_duration("0")->count(), 0);
  for (const char* wrong : {"", "s", "5", "-1s", "0s", "100d", "1e9h"}) {
    EXPECT_FALSE(parse_duration(wrong).ok()) << wrong;
  }
}

TEST(ListenAddresses, text_round_trips) {
  for (const char* text :
       {"127.0.0.1:7070", "localhost:0", "[::1]:80", "unix:/run/remora.sock", "0.0.0.0:65535"}) {
    const auto address = parse_listen_address(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->str(), text);
  }
  EXPECT_EQ(parse_listen_address("unix:///run/remora.sock")->str(), "unix:/run/remora.sock");
}

TEST(ListenAddresses, what_is_none_is_refused) {
  for (const std::string& text :
       {std::string("7070"), std::string(":7070"), std::string("host"), std::string("host:"),
        std::string("host:70700"), std::string("::1:80"), std::string("unix:"),
        std::string("http://a:1"), "unix:/" + std::string(200, 'x')}) {
    EXPECT_EQ(parse_listen_address(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace remora::server
