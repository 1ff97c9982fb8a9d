// Reads a table of outcomes with a million rows, in each form, and makes features from it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

enum class Form { wide_csv, long_csv, long_jsonl, nested_jsonl };

// A made-up table. Prompts have about 200 characters and a line end, qualities three digits, and costs seven digits.
class MadeUpTable {
 public:
  MadeUpTable(Form form, std::size_t rows, std::size_t models)
      : path_(std::filesystem::temp_directory_path() / fmt::format("pandora_traces_bench_{}", ::getpid())) {
    std::ofstream file(path_, std::ios::binary);
    if (form == Form::wide_csv) {
      std::string header = "prompt_id,prompt,source";
      for (std::size_t m = 0; m < models; ++m)
        header += fmt::format(",vendor/model-{0},vendor/model-{0}|total_cost", m);
      file << header << '\n';
    }
    if (form == Form::long_csv) file << "prompt_id,model,quality,cost,source\n";
    for (std::size_t row = 0; row < rows; ++row) file << text_of(form, row, models);
  }
  ~MadeUpTable() { std::filesystem::remove(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return static_cast<std::int64_t>(std::filesystem::file_size(path_)); }

 private:
  static std::string prompt_of(std::size_t row) {
    std::string prompt = fmt::format("Question {}:", row);
    for (std::uint64_t i = 0; i < 24; ++i) prompt += fmt::format(" {:x}", mixed(row * 100 + i) >> 40 & 0xFFFF);
    return prompt + R"(\nplease)";
  }

  static std::string text_of(Form form, std::size_t row, std::size_t models) {
    const bool nested = form == Form::nested_jsonl, wide = form == Form::wide_csv;
    std::string text;
    if (wide) text = fmt::format("{},\"{}\",set{}", row, prompt_of(row), row % 12);
    if (nested)
      text =
          fmt::format(R"({{"prompt_id":{},"prompt":"{}","source":"set{}","models":{{)", row, prompt_of(row), row % 12);
    for (std::size_t m = 0; m < models; ++m) {
      const double u = static_cast<double>(mixed(row * models + m) >> 11) * 0x1p-53;
      if (wide) text += fmt::format(",{:.3f},{:.7f}", u, 0.01 * u + 1e-6);
      if (nested)
        text += fmt::format(R"({}"vendor/model-{}":{{"quality":{:.3f},"cost":{:.7f}}})", m > 0 ? "," : "", m, u,
                            0.01 * u + 1e-6);
      if (form == Form::long_csv)
        text += fmt::format("{},vendor/model-{},{:.3f},{:.7f},set{}\n", row, m, u, 0.01 * u + 1e-6, row % 12);
      if (form == Form::long_jsonl)
        text += fmt::format(
            "{{\"prompt_id\":{},\"model\":\"vendor/"
            "model-{}\",\"quality\":{:.3f},\"cost\":{:.7f},\"source\":\"set{}\"}}\n",
            row, m, u, 0.01 * u + 1e-6, row % 12);
    }
    return text + (wide ? "\n" : nested ? "}}\n" : "");
  }

  std::filesystem::path path_;
};

void read(benchmark::State& state, Form form, std::size_t rows, std::size_t models) {
  const MadeUpTable table(form, rows, models);
  for (auto _ : state) benchmark::DoNotOptimize(read_trace(table.path()));
  state.SetBytesProcessed(state.iterations() * table.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
}

void digest(benchmark::State& state) {
  const TraceTable table = read_trace(MadeUpTable(Form::wide_csv, 1000000, 4).path());
  for (auto _ : state) benchmark::DoNotOptimize(content_digest(table));
}

void fit_features(benchmark::State& state) {
  const TraceTable table = read_trace(MadeUpTable(Form::wide_csv, 36000, 4).path());
  for (auto _ : state) benchmark::DoNotOptimize(FeatureMap::fit(table, {"text:20", "length", "source"}));
}

void apply_features(benchmark::State& state) {
  const TraceTable table = read_trace(MadeUpTable(Form::wide_csv, 36000, 4).path());
  const FeatureMap map = FeatureMap::fit(table, {"text:20", "length", "source"});
  for (auto _ : state) benchmark::DoNotOptimize(map.apply(table));
  state.SetItemsProcessed(state.iterations() * 36000);
}

const bool registered = [] {
  const std::pair<const char*, Form> forms[] = {{"wide_csv", Form::wide_csv},
                                                {"long_csv", Form::long_csv},
                                                {"long_jsonl", Form::long_jsonl},
                                                {"nested_jsonl", Form::nested_jsonl}};
  for (const auto& [name, form] : forms)
    for (const std::size_t models : {4u, 16u})
      benchmark::RegisterBenchmark(
          fmt::format("ReadTrace/{}/1000000/{}", name, models).c_str(),
          [form = form, models](benchmark::State& state) { read(state, form, 1000000, models); })
          ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("TraceDigest/1000000/4", digest)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("FitFeatures/text:20/36000", fit_features)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("ApplyFeatures/text:20/36000", apply_features)->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace pandora
