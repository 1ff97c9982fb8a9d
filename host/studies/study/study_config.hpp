// Studies as files: TOML in, one or more studies out. docs/studies.md documents every key, and so does
// `pandora run --print-defaults`; both come from the list in study_keys.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "host/studies/study/study.hpp"

namespace pandora {

/// The value of one key, and where it was given.
struct StudyValue {
  enum class Kind { text, seed, integer, number, boolean, texts, integers, numbers };

  Kind kind = Kind::text;
  std::vector<std::string> texts;  ///< of text(s)
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::uint64_t seed = 0;
  bool boolean = false;
  std::string where;  ///< such as "study.toml:12: periods = 50" or "--periods 50", for error messages

  /// As TOML; the same value always has the same text.
  std::string toml() const;
};

/// What [scenario.NAME] says: values that replace the study's own in the settings of that scenario.
struct Scenario {
  std::string name;
  std::vector<std::pair<std::string, StudyValue>> values;  ///< in the file's order; none: the study as it is
};

/// One study of a configuration, with the values of the keys that vary.
struct Setting {
  /// Key and value, in the file's order; first of all "scenario" and its name, where the study has scenarios.
  std::vector<std::pair<std::string, std::string>> varied;
  Study study;

  /// Such as "periods=1000 estimation.refit=tracking"; empty if nothing varies.
  std::string label() const;
};

class StudyConfig {
 public:
  /// The paper's study.
  StudyConfig();

  /// Reads a file's text; `name` stands in error messages. Throws Error (usage) naming file, line, key, value and, for
  /// an unknown key, the nearest valid ones. `foreign`: the study of results that another version of the program wrote,
  /// or another program with policies and environments of its own. Keys, policies and environments that this one does
  /// not know are passed over then, and an absent key has its default.
  static StudyConfig parse(const std::string& text, const std::string& name, bool foreign = false);

  /// Hyperparameters that have their defaults count as not asked for. Of a study that the program wrote, where all values
  /// stand: a policy that joins it keeps its own defaults.
  void forget_defaults();

  /// The keys that parse() passed over.
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  /// Replaces a key's value by one written as TOML; lists may be written a,b,c and words without quotes. `where` names
  /// the option in error messages, such as "--set periods=50". Where `environments` is replaced, the file's tables of
  /// environments that the new list leaves out count for nothing. `scenario` takes names of scenarios, those that are
  /// kept; `scenario.NAME.KEY` replaces what a scenario says; the value of another key is the one that scenarios replace.
  void set(const std::string& key, const std::string& value, const std::string& where);

  /// All studies, one for each combination of scenarios and the values that vary (the last key fastest). Throws Error (usage) where
  /// values contradict each other.
  std::vector<Setting> settings() const;

  /// The whole configuration as a file that parse() reads back to the same.
  std::string toml() const;

  /// The keys that numbers depend on, and those that the parts do, with their values: what must agree for results to
  /// belong together. Tables of environments that are not simulated are not among them.
  std::map<std::string, std::string> identity() const;

  /// Without what counts for nothing, as the studies, toml() and identity() are.
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

/// What it says. Throws Error (usage).
std::string read_study_text(const std::string& path);

/// A file with every key at its default, each under a comment with its meaning, type, unit and range.
std::string commented_defaults();

/// Environments of one size: those of the paper's model together, and each table of outcomes by itself, whose study has
/// the table's sizes.
struct PlannedSetting {
  Setting setting;
  Plan plan;
  std::size_t number = 0;  ///< of the setting in the configuration
};

/// Throws Error (usage) where a table has not the calibration periods or prompts that are asked for. Tables are read
/// unless the configuration says their sizes.
std::vector<PlannedSetting> make_plans(const StudyConfig& config);

/// Whether an environment of any is a table of outcomes.
bool has_table(const std::vector<PlannedSetting>& settings);

/// The keys with which results are read without their tables: the sizes, models and digest of every table. Reads the
/// tables.
void fill_in_tables(StudyConfig& config);

}  // namespace pandora
