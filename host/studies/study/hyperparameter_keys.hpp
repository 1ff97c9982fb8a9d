// The values of hyperparameters: hyperparameters.NAME is of all policies that have it and say no value of their own under
// hyperparameters.POLICY.NAME.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

inline constexpr std::string_view kHyperparameters = "hyperparameters.";

/// The keys hyperparameters.NAME.
std::vector<StudyKey> hyperparameter_keys();

/// The keys hyperparameters.POLICY.NAME of a policy; none if it is not known.
std::vector<StudyKey> hyperparameter_keys_of(const std::string& policy);

/// Of those the ones that `values` have something on, or, without values, whose default is not that of
/// hyperparameters.NAME.
std::vector<StudyKey> own_hyperparameter_keys(const StudyValues& values);

/// The POLICY of hyperparameters.POLICY.NAME; empty for other keys.
std::string policy_in(const std::string& key);

/// Throws Error (usage): there is no such policy, or it has no such hyperparameter.
void require_policy(const std::string& name, const std::string& where, const char* lead = "");
[[noreturn]] void refuse_hyperparameter(const std::string& key, const std::string& where);

/// Whether the study that the values make simulates the policy.
bool simulates(const StudyValues& values, const Policy& policy);

/// The default of hyperparameters.NAME: that of the policy of the study that has it first; of any, if none has it.
StudyValue standard_hyperparameter(const std::string& name, const StudyValues& values);

/// The values, with hyperparameters.NAME at its default where nobody asks for one, and hyperparameters.POLICY.NAME of
/// every policy of the study that takes another value, or has another default, than hyperparameters.NAME. Throws Error
/// (usage) where a value is asked for that two policies would take for different things; of a foreign study, both take
/// it.
StudyValues with_own_hyperparameters(StudyValues values, bool foreign);

/// Gives them to the study. Throws Error (usage) where a policy cannot take its value.
void apply_hyperparameters(const StudyValues& values, Study& study);

}  // namespace pandora
