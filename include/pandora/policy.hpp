// A policy is a name and the lanes that it adds to a sweep. To add one to the library, write a file like those in
// experiments/rivals and put it there. To add one from a program of your own, call register_policy. docs/extending.md
// explains both.
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

/// A hyperparameter of a policy; a study sets its values under [hyperparameters]. Several policies may use the same
/// name.
struct Hyperparameter {
  std::string name;
  std::string meaning;
  std::vector<double> grid = kPaperHyperparameters;  ///< the default; finite values
  double least = -std::numeric_limits<double>::infinity(), greatest = std::numeric_limits<double>::infinity();
  std::vector<std::string> texts = {};  ///< the default values if they are texts; `grid` is then ignored
};

/// The values to try for each hyperparameter, by its name.
class Grids {
 public:
  Grids(std::vector<double> all = kPaperHyperparameters) : all_(std::move(all)) {}  // NOLINT: implicit
  Grids(std::initializer_list<double> all) : all_(all) {}

  void set(const std::string& name, std::vector<double> values) { overrides_[name] = std::move(values); }
  const std::vector<double>& values(const std::string& name) const {
    const auto found = overrides_.find(name);
    return found == overrides_.end() ? all_ : found->second;
  }

  // For a hyperparameter whose values are texts: the values that were set, or its default ones.
  void set_texts(const std::string& name, std::vector<std::string> texts) { texts_[name] = std::move(texts); }
  const std::vector<std::string>& texts(const Hyperparameter& hyperparameter) const {
    const auto found = texts_.find(hyperparameter.name);
    return found == texts_.end() ? hyperparameter.texts : found->second;
  }

 private:
  std::vector<double> all_;  // for every hyperparameter without values of its own
  std::map<std::string, std::vector<double>> overrides_;
  std::map<std::string, std::vector<std::string>> texts_;
};

/// The memory and time of a lane that is code, as far as its policy knows them; `--plan` shows them.
struct CodeDemand {
  std::uint64_t bytes = 0;   ///< at most, beside the memory of every lane
  int power_of_context = 2;  ///< the lane's time grows with this power of the context's length, for long contexts
};

/// One row of the results: a policy in one reward setting with one value of its hyperparameters.
struct PolicyVariant {
  std::string reward;          ///< "known", "unknown" or "none" (the policy uses no reward evaluator)
  std::string hyperparameter;  ///< such as "c_rho=0.1;c_theta=1"; empty if there is none
  /// Returns the lane for a replication and T_0. It may read the calibration rows 1..T_0 of the tape; only a yardstick
  /// in hindsight (best_single) may read the online rows.
  std::function<LaneSpec(const Replication&, int T0)> lane;
  /// Instead of `lane`, for a policy that is no combination of LaneSpec's rules. It runs on the CPU, one lane at a
  /// time. The options are those of the study.
  std::function<std::unique_ptr<CustomPolicy>(const Replication&, int T0, const EstimationOptions&)> custom = {};
  /// For `custom`, given T_0 and T: its lane's memory and time. Empty: they are negligible.
  std::function<CodeDemand(const Dimensions&, int T0, int periods)> demand = {};
};

/// The group in which a policy's rows stand in tables.
enum class PolicyGroup {
  weitzman,        ///< among the paper's "Reward known" and "Reward unknown"
  baseline,        ///< among its baselines
  past_the_paper,  ///< the library's own policies
  yardstick,       ///< uses values that no policy can know, so it does not compete
  registered       ///< registered by a program
};

/// All data about a policy. Name the members that differ from the defaults (designated initialisers).
struct Policy {
  std::string name;              ///< in files and on the command line
  std::string title = {};        ///< in the paper's tables, such as "Online Plug-in Weitzman"; empty: the name
  std::string short_title = {};  ///< in other tables and figures, such as "Online plug-in"; empty: the title
  PolicyGroup group = PolicyGroup::registered;
  std::string summary = {};
  /// A digest of the policy's code, if that code can change while the program runs, as an interpreter's can: results
  /// then depend on this digest. Empty: the code is part of the program, and results depend on the whole program.
  std::string code = {};
  bool needs_calibration = false;  ///< not applicable at T_0 = 0
  bool uses_calibration = true;    ///< false: the lane is the same for all T_0 and is simulated once
  bool by_name_only = false;       ///< left out when a study's list of policies is empty
  std::vector<Hyperparameter> hyperparameters = {};
  /// The variants for the values in `grids`.
  std::function<std::vector<PolicyVariant>(const Grids& grids)> variants = {};
};

/// All policies, in the order of the tables; registered ones follow in the order of their registration.
const std::list<Policy>& all_policies();

/// The policy of that name, or nullptr. The pointer stays valid, even after another policy has replaced that one.
const Policy* find_policy(const std::string& name);

/// Makes a policy known to studies. Call it before anything else runs. A policy with a `code` may also be registered
/// while no study runs, and replaces one of its name that has a code too. Throws Error (usage) if the name is taken or
/// is not made of letters, digits, _ and -, if there are no variants, or if the name of a hyperparameter is not
/// allowed.
void register_policy(Policy policy);

/// Whether a policy without a `code` was registered.
bool has_registered_policies();

/// How often the list of policies has changed.
std::uint64_t registrations_of_policies();

/// Whether the text may be a value of a hyperparameter, which becomes part of lanes' names: up to 64 letters, digits
/// and _-+.:.
bool is_hyperparameter_text(const std::string& text);

/// The hyperparameters of all policies, each name once, in order of appearance.
std::vector<Hyperparameter> all_hyperparameters();

}  // namespace pandora
