// Reads a folder as a table: each model's answers are in files of their own. Also reads such a file alone.
//
//   *.json    LLMRouterBench's results, {"dataset_name", "split", "model_name", "records": [{"index", "origin_query",
//             "score", "cost", "prompt_tokens", "completion_tokens"}]}; or a list of objects, each a row
//   *.jsonl   an object per line, each a row: RouterArena's cached results, the long form, or a cascade's decisions
//
// Each file may be compressed (.gz) and lie in a subfolder. If the rows of a file name no model, the file's name is the
// model. If the names of files differ only in a time (NAME-20260131_235959.json), the latest file that is no trial
// ("demo": true) is used.

#include <algorithm>

#include "host/outcomes/tables/json_rows.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 100000;
constexpr int kDeepestFolder = 8;
constexpr std::uint64_t kMostDocument = std::uint64_t{1} << 30;  // bytes of a file that is one object

// A record of LLMRouterBench's results.
const AnswerForm kLlmRouterBench{"index",
                                 "model_name",
                                 "origin_query",
                                 {{"/score", "quality"},
                                  {"/cost", "cost"},
                                  {"/prompt_tokens", "prompt_tokens"},
                                  {"/completion_tokens", "completion_tokens"}}};

// The name without ".gz".
fs::path inflated_name(const fs::path& path) {
  return path.extension() == ".gz" ? path.parent_path() / path.stem() : path;
}

bool is_document(const fs::path& path) {
  return inflated_name(path).extension() == ".json";
}

bool is_lines(const fs::path& path) {
  const fs::path extension = inflated_name(path).extension();
  return extension == ".jsonl" || extension == ".ndjson";
}

// The name without a time at its end: 8 digits, _, 6 digits.
std::string name_without_time(const fs::path& path) {
  constexpr std::string_view kTime = "dddddddd_dddddd";
  std::string name = inflated_name(path).replace_extension().string();
  if (name.size() < kTime.size()) return name;
  const std::size_t begin = name.size() - kTime.size();
  for (std::size_t i = 0; i < kTime.size(); ++i)
    if (kTime[i] == 'd' ? name[begin + i] < '0' || name[begin + i] > '9' : name[begin + i] != '_') return name;
  return name.substr(0, begin) + "*";
}

class FolderReader {
 public:
  FolderReader(const fs::path& folder, const TraceOptions& options)
      : options_(options),
        place_(folder),
        builder_(place_, options, false),
        decisions_(place_, builder_),
        folder_(folder) {}

  TraceTable read() {
    if (fs::is_directory(folder_))
      take_folder();
    else
      take_document(folder_);
    decisions_.finish();
    place_ = FilePlace(folder_);
    if (passed_ > 0)
      builder_.note(fmt::format("not used: {} files that are trials, or that later files replace", passed_));
    return std::move(builder_).finish();
  }

 private:
  void take_folder() {
    readable(place_, [&] { find_files(folder_, 0); });
    if (files_.empty()) place_.refuse("is a folder without files called .json or .jsonl (also .gz); name a file of it");
    for (auto& [name, versions] : files_) {
      passed_ += versions.size();
      while (!versions.empty() && !take(versions.back())) versions.pop_back();
      passed_ -= versions.empty() ? 0 : 1;
    }
  }

  // Finds the files, grouped by name, with the latest last.
  void find_files(const fs::path& folder, int depth) {
    for (const fs::path& path : entries_of(folder)) {
      std::error_code problem;
      const fs::file_status status = fs::symlink_status(path, problem);
      if (fs::is_directory(status)) {
        if (depth == kDeepestFolder) place_.refuse("has folders more than {} deep; name one of them", kDeepestFolder);
        find_files(path, depth + 1);
      } else if (is_document(path) || is_lines(path)) {
        if (++count_ > kMostFiles) place_.refuse("has more than {} files; name a folder within it", kMostFiles);
        std::uintmax_t bytes = fs::file_size(path, problem);
        total_ += problem ? 0 : bytes;
        files_[name_without_time(path)].push_back(path);
      }
    }
  }

  // Takes a file. Returns whether it contributed anything.
  bool take(const fs::path& path) {
    place_ = FilePlace(path);
    if (is_document(path)) return take_document(path);
    RecordStream stream(path, progress(), place_);
    JsonRows(place_, builder_, decisions_, {name_of(path)}).take_lines(stream);
    return true;
  }

  static std::string name_of(const fs::path& path) { return inflated_name(path).stem().string(); }

  // The progress of the next file.
  RecordStream::Progress progress() {
    return [this, before = done_](std::uint64_t done, std::uint64_t) {
      done_ = before + done;
      if (options_.progress) options_.progress(done_, std::max(done_, total_));
    };
  }

  bool take_document(const fs::path& path) {
    const simdjson::padded_string bytes(readable(place_, [&, tell = progress()] {
      InflatedFile file(path);
      std::string all;
      for (std::string piece; all.size() <= kMostDocument; all += piece) {
        piece = file.read(std::uint64_t{1} << 20);
        if (piece.empty()) break;
        tell(file.done(), 0);
      }
      return all;
    }));
    if (bytes.size() > kMostDocument)
      place_.refuse("has more than {} GiB in one piece; write one object per line (.jsonl)", kMostDocument >> 30);
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    if (const auto problem = parser.parse(bytes).get(root); problem != simdjson::SUCCESS)
      place_.refuse("is not one JSON value ({}); a file with one object per line is called .jsonl",
                    simdjson::error_message(problem));
    simdjson::dom::array rows;
    if (root.get(rows) == simdjson::SUCCESS) {
      take_rows(rows, {name_of(path)});
      return true;
    }
    return take_results(root);
  }

  // Takes LLMRouterBench's results of a model on a part of a data set; false if it was a trial.
  bool take_results(const simdjson::dom::element& root) {
    simdjson::dom::array rows;
    std::string_view dataset, split, model;
    if (root["records"].get(rows) != simdjson::SUCCESS || root["model_name"].get(model) != simdjson::SUCCESS ||
        root["dataset_name"].get(dataset) != simdjson::SUCCESS || root["split"].get(split) != simdjson::SUCCESS)
      place_.refuse(
          "is neither a list of rows nor an object with dataset_name, split, model_name and records, as LLMRouterBench "
          "writes; take it out of the folder, or make it one");
    if (bool demo = false; root["demo"].get(demo) == simdjson::SUCCESS && demo) return false;
    take_rows(rows, {std::string(model),
                     fmt::format("{}/{}/", dataset, split),
                     {{"dataset", std::string(dataset)}, {"split", std::string(split)}},
                     &kLlmRouterBench});
    return true;
  }

  void take_rows(const simdjson::dom::array& rows, RowsOfFile of_file) {
    JsonRows taken(place_, builder_, decisions_, std::move(of_file));
    for (const simdjson::dom::element element : rows) {
      ++place_.row;
      simdjson::dom::object row;
      if (element.get(row) != simdjson::SUCCESS) place_.refuse_row("is no object");
      taken.take(row);
    }
  }

  const TraceOptions& options_;
  FilePlace place_;
  TableBuilder builder_;
  DecisionRows decisions_;
  const fs::path folder_;
  std::map<std::string, std::vector<fs::path>> files_;
  std::size_t count_ = 0, passed_ = 0;
  std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace

TraceTable read_trace_folder(const fs::path& path, const TraceOptions& options) {
  return FolderReader(path, options).read();
}

}  // namespace pandora
