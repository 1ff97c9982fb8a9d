// The values of hyperparameters. hyperparameters.NAME holds for all policies with that hyperparameter that have no
// value of their own under hyperparameters.POLICY.NAME.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

inline constexpr std::string_view kHyperparameters = "hyperparameters.";

/// The keys hyperparameters.NAME.
std::vector<StudyKey> hyperparameter_keys();

/// The keys hyperparameters.POLICY.NAME of a policy; none if the policy is unknown.
std::vector<StudyKey> hyperparameter_keys_of(const std::string& policy);

/// Those keys that are set in `values`. Without values, those whose default differs from that of hyperparameters.NAME.
std::vector<StudyKey> own_hyperparameter_keys(const StudyValues& values);

/// The POLICY of hyperparameters.POLICY.NAME; empty for other keys.
std::string policy_in(const std::string& key);

/// Throws Error (usage) if there is no such policy, or if it has no such hyperparameter.
void require_policy(const std::string& name, const std::string& where, const char* lead = "");
[[noreturn]] void refuse_hyperparameter(const std::string& key, const std::string& where);

/// Whether the study with these values simulates the policy.
bool simulates(const StudyValues& values, const Policy& policy);

/// The default of hyperparameters.NAME: that of the study's first policy with it; if none has it, that of any policy.
StudyValue standard_hyperparameter(const std::string& name, const StudyValues& values);

/// The values, with two additions. hyperparameters.NAME gets its default if it is not set. hyperparameters.POLICY.NAME
/// is added for every policy of the study whose value or default differs from hyperparameters.NAME. Throws Error
/// (usage) if a value that is set means different things to two policies. In a foreign study both take the value.
StudyValues with_own_hyperparameters(StudyValues values, bool foreign);

/// Sets them in the study. Throws Error (usage) if a policy cannot take its value.
void apply_hyperparameters(const StudyValues& values, Study& study);

}  // namespace pandora
