#include "host/cascades/serving/calls.hpp"

#include <gtest/gtest.h>

#include "pandora/error.hpp"

namespace pandora {
namespace {

// A journal of an earlier program is read to the same calls.
TEST(ParseCall, ReadsWhatNlohmannJsonReads) {
  for (
      const std::string text :
      {R"({"op": "begin", "psi": [1, -1, 0.1, -0.0, 1e-300, 5e-324, 0.1234567890123456789, 1e5, 3.0]})",
       R"({"op":"x","n":[0,-0,18446744073709551615,9223372036854775808,-9223372036854775808,123456789012345678901234567890]})",
       R"({"op":"x","op":"y","deep":{"a":[{},[],null,true,false,"\u00e9\n\ud83d\ude00 ü"]}})", "\t{\"op\":\"x\"}\r ",
       "\xef\xbb\xbf{\"op\":\"x\"}"}) {
    const nlohmann::json read = parse_call(text), wanted = nlohmann::json::parse(text);
    EXPECT_EQ(read, wanted) << text;
    EXPECT_EQ(read.dump(), wanted.dump()) << text;
    for (std::size_t k = 0; wanted.contains("n") && k < wanted["n"].size(); ++k)
      EXPECT_EQ(read["n"][k].type(), wanted["n"][k].type()) << k;
  }
}

TEST(ParseCall, SaysWhatIsNoCall) {
  for (const std::string text :
       {"", "{", "[]", "{\"op\":1}", "{\"op\":\"x\",\"n\":1e999}", "{\"op\":\"x\"} {}", "{\"op\":\"\xff\"}"})
    EXPECT_THROW((void)parse_call(text), Error) << text;
}

}  // namespace
}  // namespace pandora
