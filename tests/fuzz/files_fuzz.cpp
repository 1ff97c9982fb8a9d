// Takes any bytes for each kind of file that the program reads back: parts, oracle tables, manifests. Also takes them
// for the content of such files with right checksums, as only a forger would write them.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "host/ground/files/sealed_file.hpp"
#include "host/ground/machine/ranks.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/results/parts.hpp"
#include "host/studies/results/result_folder.hpp"
#include "host/studies/results/stored_results.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/run/run_study.hpp"
#include "host/studies/sweep/oracle_cache.hpp"
#include "pandora/error.hpp"

namespace {

using namespace pandora;
using nlohmann::json;

// A study with one unit. Every input is taken for its part and its table.
struct Fixture {
  StudyConfig config = StudyConfig::parse(
      "replications = 1\nperiods = 4\nT0 = [0]\nenvironments = [\"uniform\"]\nregimes = [\"B\"]\npolicies = "
      "[\"query_all\"]\n[dimensions]\ncontext = 2\noutput = 2\nradius_draws = 500\nreward_features = 1\n",
      "fuzz");
  std::vector<PlannedSetting> settings = make_plans(config);
  std::vector<Part> parts = make_parts(settings);
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pandora_fuzz_" + std::to_string(::getpid()));
  OracleCache cache{folder, "fuzz"};
  Instance instance = draw_instance(settings[0].setting.study.dimensions, settings[0].plan.units[0].environment,
                                    Regime::B, 0, 1, [](const Instance&) { return 1.0; });
  Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 4}});
  OracleOptions options{1000, {2, 2, 2}, 10};
  std::string key = cache.key_text(instance, contexts, options, 0);
  OracleTable table = oracle_table(instance, draw_shock_sample(instance, options.samples), contexts, options);

  ~Fixture() { std::filesystem::remove_all(folder); }
};

void as_part(const Fixture& f, const json& content) {
  try {
    (void)identity_in(content);
  } catch (const Damaged&) {
  }
  try {
    (void)part_contents(f.settings[0], f.parts[0], content);
  } catch (const Damaged&) {
  } catch (const Error&) {  // from a larger study
  }
}

// Whatever bytes the table's file has, the cache must return the right table.
void as_table(Fixture& f, const std::string& bytes) {
  std::ofstream(f.cache.path_of(f.key), std::ios::binary) << bytes;
  const OracleTable found = f.cache.get(f.instance, f.contexts, f.options, 0, [&f] { return f.table; });
  (void)found.indices(f.instance, f.contexts);
}

// Makes content from the fuzzer's bytes: fields with the right names hold pieces of them.
json content_of(const Fixture& f, const std::string& bytes) {
  try {  // the header that seal() would write
    return unseal("part", "pandora part 1 sha256 " + sha256(bytes) + " " + std::to_string(bytes.size()) + "\n" + bytes);
  } catch (const Damaged&) {
  }
  const std::size_t half = bytes.size() / 2;
  const auto binary = [](const std::string& some) {
    return json::binary(std::vector<std::uint8_t>(some.begin(), some.end()));
  };
  json content = part_content(f.settings[0], f.parts[0], {},
                              {UnitResult{std::vector<LaneTally>(2), std::vector<LaneNotes>(2), {}, f.instance}});
  content["units"][0]["tallies"] = binary(bytes.substr(0, half));
  content["units"][0]["order"] = binary(bytes.substr(half));
  content["units"][0]["notes"][content["lanes"][1].get<std::string>()] = {
      {"rho", binary(bytes.substr(0, half))}, {"theta", binary(bytes.substr(half))}, {"message", 1}};
  for (const char* name : {"projection_norm", "output_cost_range", "output_cost", "sigma", "grid_axes", "grid"})
    content[name] = binary(bytes.substr(half));
  content["key"] = f.key;
  return content;
}

// Puts the fuzzer's bytes into a manifest with a right checksum, beside the study that it names.
void as_manifest(const Fixture& f, const std::string& bytes) {
  json any = json::parse(bytes, nullptr, false);
  if (any.is_discarded()) any = bytes;
  const std::size_t which = bytes.size() / 4 % 5;
  json manifest = {{"format", 2}, {"identity", json::object()}, {"state", "complete"}, {"sessions", json::array()}};
  for (const auto& [name, value] : f.config.identity()) manifest["identity"]["study." + name] = value;
  if (which == 0) manifest["identity"]["build.version"] = any;
  if (which == 1) manifest["state"] = any;
  if (which == 2) manifest["sessions"] = any;
  if (which == 3) manifest["sessions"].push_back(any);
  if (which == 4) manifest["format"] = any;
  const auto text = [&manifest] { return manifest.dump(2, ' ', false, json::error_handler_t::replace); };
  manifest["sha256"] = sha256(text());
  const std::string path = f.folder / "results";
  std::filesystem::create_directories(path);
  std::ofstream(path + "/study.toml") << f.config.toml();
  std::ofstream(path + "/manifest.json", std::ios::binary) << text() << "\n";
  (void)ResultFolder::is_unfinished(path);
  try {
    StoredResults results(path, [](const std::string&) {});
    (void)results.unfinished();
  } catch (const Error&) {
  }
  try {
    (void)ResultFolder::open(path, ResultFolder::Mode::extend, {{"study.seed", "1"}}, [](const std::string&) {});
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fixture f;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const char* kind : {"part", "oracle"}) try {
      (void)unseal(kind, bytes);
    } catch (const Damaged&) {
    }
  try {
    const json content = content_of(f, bytes);
    as_part(f, content);
    if (size % 8 == 0) as_table(f, seal("oracle", content));  // writes a file
    as_part(f, unseal("part", seal("part", content)));
  } catch (const std::invalid_argument&) {  // its nesting is too deep to be written
  }
  try {
    (void)parse_manifest(bytes);
  } catch (const Damaged&) {
  }
  if (size % 4 == 0) as_manifest(f, bytes);  // writes files
  (void)csv_rows(bytes);
  try {
    (void)Shard::parse(bytes);
  } catch (const Error&) {
  }
  return 0;
}
