// A policy is a name and the lanes that it puts into a sweep. To add one to the library: write a file like those of
// experiments/rivals there. To add one from a program of your own: register_policy. docs/extending.md has both.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/rules/estimation.hpp"
#include "pandora/custom_policy.hpp"
#include "pandora/paper_setting.hpp"

namespace pandora {

/// What a policy is tried with; a study sets the values under [hyperparameters]. Policies may share a name.
struct Hyperparameter {
  std::string name;
  std::string meaning;
  std::vector<double> grid = kPaperHyperparameters;  ///< the default; finite values
  double least = -std::numeric_limits<double>::infinity(), greatest = std::numeric_limits<double>::infinity();
  std::vector<std::string> texts = {};  ///< the default where its values are texts; the grid then counts for nothing
};

/// The values to try of each hyperparameter, by its name.
class Grids {
 public:
  Grids(std::vector<double> all = kPaperHyperparameters) : all_(std::move(all)) {}  // NOLINT: implicit
  Grids(std::initializer_list<double> all) : all_(all) {}

  void set(const std::string& name, std::vector<double> values) { overrides_[name] = std::move(values); }
  const std::vector<double>& values(const std::string& name) const {
    const auto found = overrides_.find(name);
    return found == overrides_.end() ? all_ : found->second;
  }

  // Of a hyperparameter whose values are texts: those that were set, or its own.
  void set_texts(const std::string& name, std::vector<std::string> texts) { texts_[name] = std::move(texts); }
  const std::vector<std::string>& texts(const Hyperparameter& hyperparameter) const {
    const auto found = texts_.find(hyperparameter.name);
    return found == texts_.end() ? hyperparameter.texts : found->second;
  }

 private:
  std::vector<double> all_;  // of every hyperparameter that has no values of its own
  std::map<std::string, std::vector<double>> overrides_;
  std::map<std::string, std::vector<std::string>> texts_;
};

/// What a lane that is code takes, as far as its policy knows: `--plan` tells it.
struct CodeDemand {
  std::uint64_t bytes = 0;   ///< at the most, beside what every lane has
  int power_of_context = 2;  ///< its time goes with this power of the length of a context, where that is large
};

/// One row of the results: a policy in one information setting with one hyperparameter.
struct PolicyVariant {
  std::string reward;          ///< "known", "unknown" or "none" (the policy uses no reward evaluator)
  std::string hyperparameter;  ///< such as "c_rho=0.1;c_theta=1"; empty if there is none
  /// The lane for a replication and T_0. May look at the calibration rows 1..T_0 of the tape; only a yardstick in
  /// hindsight (best_single) may look at the online rows.
  std::function<LaneSpec(const Replication&, int T0)> lane;
  /// Instead of `lane`: a policy that is no combination of LaneSpec's rules. It runs on the CPU, one lane at a time.
  /// The options are those of the study.
  std::function<std::unique_ptr<CustomPolicy>(const Replication&, int T0, const EstimationOptions&)> custom = {};
  /// Of `custom`, with T_0 and T: what its lane takes. Empty: nothing worth telling.
  std::function<CodeDemand(const Dimensions&, int T0, int periods)> demand = {};
};

/// Where the rows of a policy stand in tables.
enum class PolicyGroup {
  weitzman,        ///< among the paper's "Reward known" and "Reward unknown"
  baseline,        ///< among its baselines
  past_the_paper,  ///< the library's own
  yardstick,       ///< competes with nobody: told what no policy can know
  registered       ///< of a program that registers it
};

/// Everything about a policy, in one place; name the members that differ (designated initialisers).
struct Policy {
  std::string name;              ///< in files and on the command line
  std::string title = {};        ///< in the paper's tables, such as "Online Plug-in Weitzman"; empty: the name
  std::string short_title = {};  ///< in other tables and figures, such as "Online plug-in"; empty: the title
  PolicyGroup group = PolicyGroup::registered;
  std::string summary = {};
  /// A digest of what the policy is, where its code can change while the program runs, as that of an interpreter does:
  /// results then depend on it. Empty: its code is the program's, and results depend on the whole program.
  std::string code = {};
  bool needs_calibration = false;  ///< not applicable at T_0 = 0
  bool uses_calibration = true;    ///< false: the lane is the same for all T_0 and is simulated once
  bool by_name_only = false;       ///< not among those that an empty list of policies means
  std::vector<Hyperparameter> hyperparameters = {};
  /// The variants over the grids.
  std::function<std::vector<PolicyVariant>(const Grids& grids)> variants = {};
};

/// All policies, in the order of the tables; registered ones follow in the order of their registration.
const std::list<Policy>& all_policies();

/// The policy of that name, or nullptr. Pointers stay valid, also to a policy that another one has replaced.
const Policy* find_policy(const std::string& name);

/// Makes a policy known to studies. Call it before anything else runs. A policy that says its `code` may be registered
/// while no study is run, and replaces one of its name that says its own. Throws Error (usage) if the name is taken, is
/// not made of letters, digits, _ and -, if there are no variants, or if a hyperparameter cannot be called so.
void register_policy(Policy policy);

/// Whether a policy was registered that does not say its `code`.
bool has_registered_policies();

/// How often the list of policies has changed.
std::uint64_t registrations_of_policies();

/// Whether the text can be a value of a hyperparameter, which lanes are named by: up to 64 letters, digits and _-+.:.
bool is_hyperparameter_text(const std::string& text);

/// The hyperparameters of all policies, each name once, in order of appearance.
std::vector<Hyperparameter> all_hyperparameters();

}  // namespace pandora
