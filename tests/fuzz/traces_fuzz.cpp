// Takes any bytes for a table of outcomes and for a map of features. Either they are refused with one line, or the
// result is complete and within its ranges.
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "pandora/error.hpp"

namespace {

using namespace pandora;

void require(bool holds) {
  if (!holds) std::abort();
}

// A file in memory if there is /dev/shm, otherwise on the disk.
struct Fixture {
  std::filesystem::path file =
      (::access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) /
      ("pandora_traces_fuzz_" + std::to_string(::getpid()));
  ~Fixture() { std::filesystem::remove(file); }
};

void expect_utf8(std::string_view text) {
  (void)nlohmann::json(std::string(text)).dump();  // throws if it is not UTF-8
}

void expect_whole(const TraceTable& table) {
  const std::size_t cells = table.rows() * table.models.size();
  require(cells > 0 && table.quality.size() == cells && table.cost.size() == cells);
  for (const double x : table.quality) require(x >= 0 && x <= 1);
  for (const double x : table.cost) require(x >= 0 && std::isfinite(x));
  require(table.latency.empty() || table.latency.size() == cells);
  for (const double x : table.latency) require(!(x < 0));
  for (const ScoreColumn& score : table.scores) {
    require(score.values.size() == cells);
    for (const double x : score.values) require(x >= 0 && x <= 1);
  }
  for (const std::string& model : table.models) expect_utf8(model);
  for (std::size_t row = 0; row < table.rows(); ++row) expect_utf8(table.prompts[row]);
  for (const PromptColumn& column : table.columns) {
    expect_utf8(column.name);
    const bool is_text = column.kind == PromptColumn::Kind::text;
    require(column.texts.size() == (is_text ? table.rows() : 0));
    require(column.numbers.size() == (is_text ? 0 : table.rows() * column.length));
    for (std::size_t row = 0; is_text && row < table.rows(); ++row) expect_utf8(column.texts[row]);
    for (const double x : column.numbers) require(!std::isinf(x));
  }
}

void use(const TraceTable& table) {
  std::vector<std::string> specs;
  for (const PromptColumn& column : table.columns) specs.push_back(column.name);
  try {
    const FeatureMap map = FeatureMap::fit(table, specs);
    for (const double x : map.apply(table)) require(x >= -1 && x <= 1);
    require(FeatureMap::from_json(nlohmann::json::parse(map.to_json().dump())) == map);
  } catch (const Error&) {  // a column's name means something else, or it has no classes
  }
  try {
    const TraceSplit split = split_rows(table, 0.5);
    require_apart(select_rows(table, split.first), select_rows(table, split.second));
  } catch (const Error& error) {
    require(error.code() == ExitCode::bad_data);
  }
  require(content_digest(table).size() == 64);
}

void as_table(const std::string& bytes) {
  static Fixture fixture;
  std::ofstream(fixture.file, std::ios::binary) << bytes;
  TraceOptions options;
  options.most_bytes = std::uint64_t{1} << 28;
  if (bytes.size() % 3 == 1) options.missing = MissingCells::drop;
  if (bytes.size() % 5 == 1) options.models = {"a"};
  if (bytes.size() % 7 == 1) options.scores = {"score"};
  if (bytes.size() % 11 == 1) options.prices = {{"a", {1, 2}}, {"b", {0, 1e6}}};
  if (bytes.size() % 13 == 1) options.scale = {{"quality", -5, 5}};
  options.free_calls = bytes.size() % 17 == 1;
  options.repeats = bytes.size() % 19 == 1;
  if (bytes.size() % 23 == 1) options.quality = "score";
  if (bytes.size() % 29 == 1) options.prompt_key = {"prompt", "x"};
  options.scores_alone = bytes.size() % 31 == 1;
  try {
    const TraceTable table = read_trace(fixture.file, options);
    expect_whole(table);
    use(table);
  } catch (const Error& error) {
    require(error.code() == ExitCode::bad_data);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    expect_utf8(error.what());
  }
}

void as_features(const std::string& bytes) {
  const nlohmann::json json = nlohmann::json::parse(bytes, nullptr, false);
  if (json.is_discarded()) return;
  try {
    const FeatureMap map = FeatureMap::from_json(json);
    require(FeatureMap::from_json(map.to_json()) == map);
    Prompt prompt;
    prompt.text = bytes;
    for (const double x : map.apply(prompt)) require(x >= -1 && x <= 1);
  } catch (const Damaged&) {
  } catch (const Error& error) {  // a raw column is missing
    require(error.code() == ExitCode::usage);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  as_table(bytes);
  as_features(bytes);
  (void)count_ngrams(bytes, 4);
  return 0;
}
