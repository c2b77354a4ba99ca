// The configuration file: every option has its key, the command line wins, mistakes name the line.
#include "server/config_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/options.h"

namespace remora::server {
namespace {

using testing::HasSubstr;

class ConfigFile : public testing::Test {
 protected:
  ~ConfigFile() override { std::filesystem::remove(path_); }
  ParsedOptions parse(const std::string& content, std::vector<const char*> arguments = {}) {
    std::ofstream(path_) << content;
    arguments.insert(arguments.begin(), {"remorad", "--config", path_.c_str()});
    return parse_options(static_cast<int>(arguments.size()), arguments.data());
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("remorad-" + std::to_string(getpid()) + ".toml");
};

TEST_F(ConfigFile, every_option_has_its_key) {
  const ParsedOptions parsed = parse(R"(
# A worker.
listen = "127.0.0.1:7070"
devices = ["cpu", "cpu"]
settings = "float=bf16,tf32=on"
memory-limit = "cpu=2GiB"
threads = 3
session-quota = "1GiB"
identity-quota = "3GiB"
identity-in-flight = "64MiB"
identity-sessions = 5
idle-timeout = "10min"
reply-timeout = "5s"
keepalive = "20s"
token-file = "tokens"
tls-cert = "cert.pem"
tls-key = "key.pem"
tls-client-ca = "ca.pem"
insecure = true
log-level = "debug"

[identity.alice]
devices = "cpu:1"
quota = "2GiB"
in-flight = "1MiB"
sessions = 2

[identity."spiffe://bob"]
sessions = 1
)");
  ASSERT_TRUE(parsed.options.has_value()) << parsed.message;
  const Options& options = *parsed.options;
  EXPECT_EQ(options.listen, "127.0.0.1:7070");
  EXPECT_EQ(options.devices.size(), 2u);
  EXPECT_EQ(options.memory_limit_bytes.at(BackendKind::kCpu), int64_t{2} << 30);
  EXPECT_EQ(options.settings.str(), "float=bf16,int=i64,bool=bool,tf32=on,deterministic=off");
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.session_quota_bytes, int64_t{1} << 30);
  EXPECT_EQ(options.identity_defaults.bytes, int64_t{3} << 30);
  EXPECT_EQ(options.identity_defaults.in_flight_bytes, int64_t{64} << 20);
  EXPECT_EQ(options.identity_defaults.sessions, 5);
  EXPECT_EQ(options.idle_timeout.count(), 600'000);
  EXPECT_EQ(options.reply_timeout.count(), 5'000);
  EXPECT_EQ(options.keepalive.count(), 20'000);
  EXPECT_EQ(options.token_file, "tokens");
  EXPECT_EQ(options.tls_certificate, "cert.pem");
  EXPECT_EQ(options.tls_key, "key.pem");
  EXPECT_EQ(options.tls_client_ca, "ca.pem");
  EXPECT_TRUE(options.insecure);
  EXPECT_EQ(options.log_level, "debug");
  ASSERT_EQ(options.identities.size(), 2u);
  const IdentityLimits& alice = options.identities.at("alice");
  ASSERT_EQ(alice.devices->size(), 1u);
  EXPECT_EQ(alice.devices->front().index, 1);
  EXPECT_EQ(alice.bytes, int64_t{2} << 30);
  EXPECT_EQ(alice.in_flight_bytes, 1 << 20);
  EXPECT_EQ(alice.sessions, 2);
  EXPECT_EQ(options.identities.at("spiffe://bob").bytes, std::nullopt);
}

TEST_F(ConfigFile, the_command_line_wins) {
  const ParsedOptions parsed = parse("threads = 3\nlisten = \"127.0.0.1:1\"\n", {"--threads", "5"});
  ASSERT_TRUE(parsed.options.has_value()) << parsed.message;
  EXPECT_EQ(parsed.options->threads, 5);
  EXPECT_EQ(parsed.options->listen, "127.0.0.1:1");
  EXPECT_FALSE(parse("insecure = false\n").options->insecure);
}

TEST_F(ConfigFile, mistakes_name_file_and_line) {
  const struct {
    const char* content;
    const char* part;
  } cases[] = {
      {"threads = 1\ncolour = \"red\"\n", ":2: 'colour' is no option"},
      {"\n\nthreads = \"many\"\n", ":3: "},
      {"threads = 1\nidle-timeout = \"soon\"\n", ":2: --idle-timeout: 'soon' is not a time"},
      {"threads = [1]\n", ":1: the list 'threads' holds something else than text"},
      {"threads = 1.5\n", ":1: 'threads' is neither"},
      {"config = \"other.toml\"\n", ":1: 'config' is no option"},
      {"exit-with-parent = true\n", ":1: 'exit-with-parent' is no option"},
      {"listen = \n", ":1: "},
      {"a = 1\na = 2\n", ":2: "},
      {"identity = 3\n", ":1: 'identity' is not a table"},
      {"[identity]\nalice = 3\n", ":2: 'identity.alice' is not a table"},
      {"[identity.alice]\nquota = \"1GiB\"\ncolour = 1\n", ":3: 'colour': no limit"},
      {"[identity.alice]\nsessions = 0\n", ":2: 'sessions': '0' is not a number"},
      {"[network]\nport = 1\n", ":1: 'network' is neither"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.content);
    const ParsedOptions parsed = parse(wrong.content);
    EXPECT_FALSE(parsed.options.has_value());
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_THAT(parsed.message, HasSubstr(path_ + wrong.part));
  }
}

TEST_F(ConfigFile, what_is_no_file_or_too_large_is_refused) {
  EXPECT_THAT(parse(std::string(kMaxConfigBytes + 1, '#')).message, HasSubstr("holds more than"));
  std::string nested = "a = ";
  nested.append(100'000, '[');
  EXPECT_EQ(parse(nested).exit_code, 2);
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(read_config(path_).status().message()), HasSubstr("is a pipe"));
}

}  // namespace
}  // namespace remora::server
