// Studies as files: TOML in, one or more studies out. docs/keys.md and docs/studies.md document every key, and so does
// `pandora run --print-defaults`; both come from the list in study_keys.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "host/studies/study/study.hpp"

namespace pandora {

/// The value of one key, and where it was set.
struct StudyValue {
  enum class Kind { text, seed, integer, number, boolean, texts, integers, numbers };

  Kind kind = Kind::text;
  std::vector<std::string> texts;  ///< for kinds text and texts
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::uint64_t seed = 0;
  bool boolean = false;
  std::string where;  ///< such as "study.toml:12: periods = 50" or "--periods 50", for error messages

  /// The value as TOML; the same value always has the same text.
  std::string toml() const;
};

/// The values of [scenario.NAME], which replace the study's own in the settings of that scenario.
struct Scenario {
  std::string name;
  std::vector<std::pair<std::string, StudyValue>> values;  ///< in the file's order; empty: the study as it is
};

/// One study of a configuration, with the values of the keys that vary.
struct Setting {
  /// Key and value, in the file's order. If the study has scenarios, the first is "scenario" with its name.
  std::vector<std::pair<std::string, std::string>> varied;
  Study study;

  /// A text such as "periods=1000 estimation.refit=tracking"; empty if nothing varies.
  std::string label() const;
};

class StudyConfig {
 public:
  /// The paper's study.
  StudyConfig();

  /// Reads a file's text; `name` stands in error messages. Throws Error (usage) with file, line, key, value and, for an
  /// unknown key, the nearest valid ones. `foreign`: the study comes from results of another version of the program, or
  /// of another program with its own policies and environments. Unknown keys, policies and environments are then passed
  /// over, and an absent key has its default.
  static StudyConfig parse(const std::string& text, const std::string& name, bool foreign = false);

  /// Treats hyperparameters that have their defaults as not set. For a study that the program wrote, in which all
  /// values stand: a policy that joins it then has its own defaults.
  void forget_defaults();

  /// The keys that parse() passed over.
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  /// Replaces a key's value by one written as TOML; lists may be written a,b,c and words without quotes. `where` names
  /// the option in error messages, such as "--set periods=50". If `environments` is replaced, the file's tables of
  /// environments that are not in the new list are ignored. `scenario` takes the names of the scenarios to keep;
  /// `scenario.NAME.KEY` replaces a value of a scenario; any other key sets the value that scenarios may replace.
  void set(const std::string& key, const std::string& value, const std::string& where);

  /// All studies, one for each combination of scenarios and of the values that vary (the last key changes fastest).
  /// Throws Error (usage) if values contradict each other.
  std::vector<Setting> settings() const;

  /// The whole configuration as a file that parse() reads back to the same.
  std::string toml() const;

  /// The keys on which numbers and parts depend, with their values. They must agree for results to belong together.
  /// Tables of environments that are not simulated are not among them.
  std::map<std::string, std::string> identity() const;

  /// The values without unused ones, as in the studies, toml() and identity().
  std::map<std::string, StudyValue> values() const;
  std::vector<std::pair<std::string, std::vector<StudyValue>>> varying() const;
  std::vector<Scenario> scenarios() const;

 private:
  void begin_scenario(const std::string& name, const std::string& where);
  void require_scenario(const std::string& name, const std::string& where) const;
  void choose_scenarios(const std::vector<std::string>& names, const std::string& where);
  void put(const std::string& key, StudyValue value);
  void refuse_varying() const;
  void assign(const std::string& key, StudyValue value);
  bool counts(const std::string& key) const;
  bool simulates_environment_of(const std::string& key) const;
  bool is_of_policies(const std::string& key) const;

  std::map<std::string, StudyValue> values_;  // every key of the list and of [environment.*]
  std::vector<std::pair<std::string, std::vector<StudyValue>>> varying_;  // [vary]
  std::vector<Scenario> scenarios_;                                       // [scenario.*]
  std::set<std::string> replaced_;                                        // keys that set() has replaced
  bool foreign_ = false;
  std::vector<std::string> passed_over_;
};

/// A study's file. Throws Error (usage) if it cannot be read.
StudyConfig read_study_file(const std::string& path);

/// The text of such a file. Throws Error (usage).
std::string read_study_text(const std::string& path);

/// A file with every key at its default, each under a comment with its meaning, type, unit and range.
std::string commented_defaults();

/// A setting's environments of one size. Those of the paper's model are together; each table of outcomes is separate,
/// and its study has the table's sizes.
struct PlannedSetting {
  Setting setting;
  Plan plan;
  std::size_t number = 0;  ///< of the setting in the configuration
};

/// Throws Error (usage) if a table has too few rows for the calibration periods or prompts that are asked for. Tables
/// are read unless the configuration states their sizes.
std::vector<PlannedSetting> make_plans(const StudyConfig& config);

/// Whether some environment is a table of outcomes.
bool has_table(const std::vector<PlannedSetting>& settings);

/// Fills in the keys with which results can be read without their tables: the sizes, models and digest of every table.
/// Reads the tables.
void fill_in_tables(StudyConfig& config);

}  // namespace pandora
