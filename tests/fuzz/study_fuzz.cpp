// Takes any text for a study's file. Either it is refused with one line, or it is accepted. An accepted study must be
// written so that reading it gives the same study.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "host/studies/study/study_config.hpp"
#include "pandora/error.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void expect_one_line(const pandora::Error& error) {
  require(error.code() == pandora::ExitCode::usage);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pandora;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The text is a file.
  try {
    const StudyConfig config = StudyConfig::parse(text, "fuzz.toml");
    const StudyConfig again = StudyConfig::parse(config.toml(), "again.toml");
    require(again.toml() == config.toml() && again.identity() == config.identity());
  } catch (const Error& error) {
    expect_one_line(error);
  }
  // The text is words of the command line, one "key=value" a line.
  StudyConfig config;
  for (std::size_t begin = 0, words = 0; begin < text.size() && words < 4; ++words) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::size_t equals = word.find('=');
    begin = end + 1;
    if (equals == std::string::npos) continue;
    try {
      config.set(word.substr(0, equals), word.substr(equals + 1), "--set " + word);
    } catch (const Error& error) {
      expect_one_line(error);
    }
  }
  try {
    (void)config.settings();
  } catch (const Error& error) {
    expect_one_line(error);
  }
  return 0;
}
