// A sealed file comes back bit for bit. All other bytes are refused with the reason, hostile bytes too.
#include "host/ground/files/sealed_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;

json small_content() {
  return {{"name", "uniform"},  {"seed", 18446744073709551615u},
          {"loss", -3},         {"share", 0.1},
          {"order", {2, 0, 1}}, {"flag", true},
          {"nothing", nullptr}, {"sigma", pack(std::vector<double>{1.5, -0.0})}};
}

// The complaint of unseal about these bytes; empty if it takes them.
std::string complaint(std::string_view kind, std::string_view bytes) {
  try {
    unseal(kind, bytes);
  } catch (const Damaged& damaged) {
    return damaged.what();
  }
  return "";
}

// Makes a file with a correct header around any payload.
std::string forged(const std::string& payload) {
  return "pandora part 1 sha256 " + sha256(payload) + " " + std::to_string(payload.size()) + "\n" + payload;
}

TEST(Sha256, IsTheStandards) {  // FIPS 180-2, appendix B
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(SealedFile, GivesBackWhatWasSealed) {
  const std::string bytes = seal("part", small_content());
  EXPECT_EQ(unseal("part", bytes), small_content());
  EXPECT_EQ(seal("part", unseal("part", bytes)), bytes);
  EXPECT_EQ(bytes.substr(0, 22), "pandora part 1 sha256 ");
  for (const json& content : {json(), json(7), json::array(), json::object(), json("text\n\0x")})
    EXPECT_EQ(unseal("part", seal("part", content)), content);
}

TEST(SealedFile, NoticesEveryTruncation) {
  const std::string bytes = seal("part", small_content());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(complaint("part", std::string_view(bytes).substr(0, size)), "is truncated") << size;
  EXPECT_EQ(complaint("part", bytes + "x"), "goes on after its end");
}

TEST(SealedFile, NoticesEveryFlippedBit) {
  const std::string bytes = seal("part", small_content());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      ASSERT_NE(complaint("part", flipped), "") << at << " " << bit;
    }
  std::string payload = bytes;
  payload.back() ^= 1;
  EXPECT_EQ(complaint("part", payload), "its checksum differs");
}

TEST(SealedFile, SaysWhatItIsInstead) {
  const std::string bytes = seal("part", small_content());
  EXPECT_EQ(complaint("oracle", bytes), "is not a pandora oracle");
  EXPECT_EQ(complaint("part", "policy,regret\n"), "is not a pandora part");
  EXPECT_EQ(complaint("part", std::string(1000, '\0')), "is not a pandora part");
  std::string older = bytes;
  older.replace(older.find(" 1 "), 3, " 27 ");
  EXPECT_EQ(complaint("part", older), "was written by another version of the format");
  std::string size = bytes;  // a header that names too many bytes makes no allocation
  size.insert(size.find('\n'), "000000000");
  EXPECT_EQ(complaint("part", size), "is truncated");
  size.insert(size.find('\n'), "000000000000");  // above 2^64
  EXPECT_NE(complaint("part", size), "");
}

// Payloads with a correct checksum that seal() did not write: endless levels, lengths beyond the file's end, tags.
TEST(SealedFile, RefusesHostilePayloads) {
  const std::size_t n = 2000000;
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff";
  std::string maps;
  for (std::size_t i = 0; i < n; ++i) maps += "\xa1\x61k";
  std::vector<std::string> payloads = {maps,
                                       "\x9b" + huge,
                                       "\xbb" + huge,
                                       "\x5b" + huge,
                                       "\x7b" + huge,
                                       "\x3b" + huge,
                                       "\x9b\x7f" + huge.substr(1),
                                       std::string("\xa2\x61k\x01\x61k\x02", 7)};
  for (const char byte : {'\x81', '\x9f', '\xbf', '\x7f', '\x5f', '\xc0'}) payloads.emplace_back(n, byte);
  for (const char* few : {"\xff", "\x1c", "\xf8\x20", "", "\x01\x01", "\x18\x01", "\xa1\x01\x01", "\xc2\x41\x01"})
    payloads.emplace_back(few);
  for (const std::string& payload : payloads)
    EXPECT_EQ(complaint("part", forged(payload)), "its content is malformed") << payload.substr(0, 10);
  EXPECT_EQ(complaint("part", forged("\x01")), "");  // the forgery itself is right
}

TEST(SealedFile, LimitsTheDepthOfWhatItWrites) {
  json content = 1;
  for (int level = 0; level < 32; ++level) content = json::array({content});
  EXPECT_EQ(unseal("part", seal("part", content)), content);
  EXPECT_THROW(seal("part", json::array({content})), std::invalid_argument);
}

TEST(SealedFile, TakesNoRandomBytes) {
  std::mt19937 engine(5);
  for (int run = 0; run < 20000; ++run) {
    std::string payload(engine() % 40, '\0');
    for (char& byte : payload) byte = static_cast<char>(engine());
    complaint("part", payload);  // only Damaged may be thrown; other exceptions fail the test
    const std::string bytes = forged(payload);
    if (complaint("part", bytes).empty()) {
      ASSERT_EQ(seal("part", unseal("part", bytes)), bytes);
    }
  }
}

using SealedFileOnDisk = test::FolderTest;

TEST_F(SealedFileOnDisk, IsReadWhole) {
  const fs::path path = base_ / "a.part";
  const auto read_complaint = [&] {
    try {
      read_sealed("part", path, 1u << 20);
    } catch (const std::runtime_error& damaged) {
      return std::string(damaged.what());
    }
    return std::string();
  };
  EXPECT_EQ(read_complaint(), "cannot be read (No such file or directory)");
  const std::string bytes = seal("part", small_content());
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(read_sealed("part", path, 1u << 20), small_content());
  fs::resize_file(path, bytes.size() - 1);
  EXPECT_EQ(read_complaint(), "is truncated");
  fs::resize_file(path, 0);
  EXPECT_EQ(read_complaint(), "is truncated");
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(read_complaint(), "cannot be read (it is a folder)");
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // nobody will ever write to it
  EXPECT_EQ(read_complaint(), "cannot be read (it is a pipe, a socket or a device)");
}

TEST(PackedDoubles, KeepEveryBit) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {
      0.0, -0.0, 1.0 / 3.0, inf, -inf, std::nan(""), std::bit_cast<double>(0xfff800000000beefu), 5e-324};
  const std::vector<double> back = unpack(unseal("part", seal("part", pack(values))), values.size());
  ASSERT_EQ(back.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back[i]), std::bit_cast<std::uint64_t>(values[i])) << i;
  EXPECT_THAT(pack(std::vector<double>{1.0}).get_binary(), testing::ElementsAre(0, 0, 0, 0, 0, 0, 0xf0, 0x3f));
  EXPECT_TRUE(unpack(pack({})).empty());
}

TEST(PackedDoubles, RefuseOtherTypesAndLengths) {
  for (const json& content : {json(), json(1.5), json("12345678"), json({1.0, 2.0}), json::object()})
    EXPECT_THROW(unpack(content), Damaged) << content;
  EXPECT_THROW(unpack(json::binary({1, 2, 3, 4, 5, 6, 7})), Damaged);
  EXPECT_THROW(unpack(pack(std::vector<double>{1.0}), 2), Damaged);
}

}  // namespace
}  // namespace pandora
