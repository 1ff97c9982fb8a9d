// Stores an oracle table as a sealed file, named by the digest of all inputs from which it is computed.
#include "host/studies/sweep/oracle_cache.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "host/ground/base/fail.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/ground/files/temporary_file.hpp"
#include "host/ground/machine/build.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/study/environment_keys.hpp"

namespace pandora {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr char kKind[] = "oracle", kSuffix[] = ".oracle";
constexpr int kTableFormat = 2;  // increase it when the stored data or its computation changes

std::string digest(std::span<const double> values) {
  return sha256({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

// The values of the rows from `first_row` on.
std::string digest_rows(const std::vector<double>& values, const Contexts& contexts, int first_row) {
  const std::size_t columns = contexts.rows == 0 ? 0 : values.size() / static_cast<std::size_t>(contexts.rows);
  return digest(std::span(values).subspan(static_cast<std::size_t>(first_row) * columns));
}

json stored(const OracleTable& table, const std::string& key_text) {
  json content = {
      {"key", key_text},
      {"projection_norm", pack({&table.projection_norm, 1})},
      {"output_cost_range", pack(std::vector<double>{table.output_cost.least(), table.output_cost.greatest()})},
      {"output_cost", pack(table.output_cost.values())},
      {"sigma", pack(table.sigma)}};
  if (table.grid) {
    std::vector<double> axes;
    for (const GridAxis& axis : table.grid->axes()) axes.insert(axes.end(), {axis.first, axis.step});
    content["grid_axes"] = pack(axes);
    content["grid"] = pack(table.grid->values());
  }
  return content;
}

// More bytes than the table's file has.
std::uint64_t most_bytes(const Instance& instance, const OracleOptions& options, const std::string& key_text) {
  constexpr std::uint64_t kRest = 1u << 20;
  const GridShape& shape = options.grid;
  const std::uint64_t grid = static_cast<std::uint64_t>(shape.shift) * shape.scale * shape.cost,
                      boxes = static_cast<std::uint64_t>(instance.dimensions.boxes);
  return kRest + key_text.size() + sizeof(double) * (grid + boxes * (OutputCostTable::kNodes + 1));
}

// Reads the table from a file's content. Throws Damaged unless it has the wanted key and sizes.
OracleTable table_in(const json& content, const std::string& key_text, const Instance& instance,
                     const OracleOptions& options) {
  const auto field = [&content](const char* name) -> const json& {
    if (!content.is_object() || !content.contains(name)) throw Damaged(fmt::format("its content has no {}", name));
    return content.at(name);
  };
  if (field("key") != key_text) throw Damaged("it is of other settings than its name says");
  const std::size_t boxes = static_cast<std::size_t>(instance.dimensions.boxes);
  const std::vector<double> range = unpack(field("output_cost_range"), 2);
  OracleTable table{unpack(field("projection_norm"), 1)[0],
                    OutputCostTable(range[0], range[1], unpack(field("output_cost"), boxes * OutputCostTable::kNodes)),
                    unpack(field("sigma"), instance.contextual() ? 0 : boxes), std::nullopt};
  if (instance.contextual()) {
    const std::vector<double> axes = unpack(field("grid_axes"), 6);
    const GridShape& shape = options.grid;
    table.grid.emplace(
        std::array<GridAxis, 3>{
            {{shape.shift, axes[0], axes[1]}, {shape.scale, axes[2], axes[3]}, {shape.cost, axes[4], axes[5]}}},
        unpack(field("grid"), static_cast<std::size_t>(shape.shift) * shape.scale * shape.cost));
  }
  return table;
}

}  // namespace

std::string cpu_numerics() {
  std::string text;
  for (const auto& [name, value] : build_identity()) text += fmt::format("{}={}\n", name, value);
  // Machines with the same build may still differ in the mathematics library, so a small table is computed as a sample.
  const Instance instance =
      draw_instance({}, paper_environments()[1], Regime::B, 0, 1, [](const Instance&) { return 1.0; });
  const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 20}});
  const OracleOptions options{2000, {7, 5, 7}, 200};
  const std::vector<double> sigma =
      oracle_table(instance, draw_shock_sample(instance, options.samples), contexts, options)
          .indices(instance, contexts);
  return "cpu " + sha256(text + digest(sigma));
}

OracleCache::OracleCache(fs::path folder, std::string numerics, Note note)
    : folder_(std::move(folder)), numerics_(std::move(numerics)), note_(std::move(note)) {
  const auto refuse = [this](const std::string& why) {
    fail(ExitCode::usage, "oracle cache {}: {}; name a writable folder", folder_.string(), why);
  };
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error)) refuse("is a file");
  fs::create_directories(folder_, error);
  if (error) refuse(fmt::format("cannot be created ({})", error.message()));
  if (const int reason = try_writing(folder_); reason != 0)
    refuse(fmt::format("cannot be written ({})", std::strerror(reason)));
  remove_leftovers(folder_, Others::may_write,
                   [](const std::string& target) { return target.empty() || fs::path(target).extension() == kSuffix; });
}

std::string OracleCache::key_text(const Instance& instance, const Contexts& contexts, const OracleOptions& options,
                                  int first_row) const {
  const Environment& environment = instance.environment;
  const Dimensions& dim = instance.dimensions;
  const json key = {{"format", kTableFormat},
                    {"numerics", numerics_},
                    {"stream",
                     {{"seed", instance.seed},
                      {"environment", environment.id},
                      {"regime", static_cast<int>(instance.regime)},
                      {"replication", instance.replication}}},
                    {"environment", options_of(environment)},
                    {"samples", options.samples},
                    {"dimensions",
                     {{"boxes", dim.boxes},
                      {"context", dim.context},
                      {"output", dim.output},
                      {"reward_features", dim.reward_features},
                      {"index_features", static_cast<int>(dim.index_features)}}},
                    {"parameters",
                     {{"theta", digest(instance.theta)},
                      {"D", digest(instance.D)},
                      {"beta1", digest(instance.beta1)},
                      {"c1", digest(instance.c1)}}},
                    {"contexts",
                     {{"rows", contexts.rows - first_row},
                      {"reward_shift", digest_rows(contexts.reward_shift, contexts, first_row)},
                      {"scale", digest_rows(contexts.scale, contexts, first_row)},
                      {"cost", digest_rows(contexts.context_cost, contexts, first_row)}}},
                    {"grid", {options.grid.shift, options.grid.scale, options.grid.cost}},
                    {"bins", options.bins}};
  return key.dump(-1, ' ', true, json::error_handler_t::replace);
}

fs::path OracleCache::path_of(const std::string& key_text) const {
  return folder_ / (sha256(key_text) + kSuffix);
}

OracleTable OracleCache::get(const Instance& instance, const Contexts& contexts, const OracleOptions& options,
                             int first_row, const std::function<OracleTable()>& build) {
  const std::string text = key_text(instance, contexts, options, first_row);
  const fs::path path = path_of(text);
  try {
    OracleTable table =
        table_in(read_sealed(kKind, path, most_bytes(instance, options, text)), text, instance, options);
    ++hits_;
    return table;
  } catch (const Damaged& damaged) {
    tell(path, damaged.what());
  } catch (const Unreadable& problem) {
    if (problem.why != Unreadable::Why::absent) {
      tell(path, problem.what());
      storing_ = false;  // a file that cannot be read is not replaced, because the disk is faulty
    }
  }
  ++misses_;
  OracleTable table = build();
  store(path, seal(kKind, stored(table, text)));
  return table;
}

void OracleCache::tell(const fs::path& path, const std::string& what) {
  const std::lock_guard guard(mutex_);
  if (told_.insert(path).second && note_)
    note_(fmt::format("oracle cache {}: {}; it is computed again", path.string(), what));
}

void OracleCache::store(const fs::path& path, const std::string& bytes) {
  const std::lock_guard guard(mutex_);  // each file and process has one temporary name
  if (!storing_) return;
  try {
    write_file(path, bytes);
  } catch (const Error& error) {
    storing_ = false;
    const std::string what = error.what();  // "<path>: could not be written (<reason>); <a remedy for results>"
    if (note_)
      note_(fmt::format("oracle cache {}; the run goes on and stores no more", what.substr(0, what.rfind(';'))));
  }
}

}  // namespace pandora
