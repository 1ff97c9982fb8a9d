// The values and defaults of policies' hyperparameters, and those that a study sets.
#include "host/studies/study/hyperparameter_keys.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;

std::string own_key(const Policy& policy, const std::string& name) {
  return fmt::format("{}{}.{}", kHyperparameters, policy.name, name);
}

Kind kind_of(const Hyperparameter& h) {
  return h.texts.empty() ? Kind::numbers : Kind::texts;
}

StudyValue standard_of(const Hyperparameter& h, const std::string& key) {
  StudyValue value;
  value.kind = kind_of(h);
  value.numbers = h.grid;
  value.texts = h.texts;
  value.where = "default of " + key;
  return value;
}

bool is_asked(const StudyValues& values, const std::string& key) {
  const auto at = values.find(key);
  return at != values.end() && at->second.where != "default of " + key;
}

// For any policy that has it.
void require_values(const StudyValue& value) {
  if (value.kind == Kind::texts) {
    require_distinct(value, value.texts);
    for (const std::string& text : value.texts)
      if (!is_hyperparameter_text(text))
        refuse(value.where, "\"{}\" cannot name a lane; use at most 64 letters, digits and _-+.:", printable(text, 80));
    return;
  }
  require_distinct(value, value.numbers);
  for (const double x : value.numbers)
    if (!std::isfinite(x)) refuse(value.where, "{} is not a finite number", x);
}

void require_bounds(const StudyValue& value, const Hyperparameter& h, const std::string& policy) {
  if (value.kind != Kind::numbers) return;
  for (const double x : value.numbers)
    if (x < h.least || x > h.greatest)
      refuse(value.where, "{} is out of range{}; give numbers from {} to {}", x,
             policy.empty() ? "" : " for policy " + policy, h.least, h.greatest);
}

void set_values(Grids& grids, const std::string& name, const StudyValue& value) {
  if (value.kind == Kind::texts)
    grids.set_texts(name, value.texts);
  else
    grids.set(name, value.numbers);
}

StudyKey key_of(const Hyperparameter& h, const std::string& name, const std::string& meaning) {
  const bool texts = kind_of(h) == Kind::texts;
  return {{name, kind_of(h), texts ? "list of different texts" : "list of different finite numbers", "", meaning},
          standard_of(h, "").toml(),
          [name = h.name](Study& study, const StudyValue& value) {
            require_values(value);
            set_values(study.hyperparameters, name, value);
          }};
}

// A policy of the study with its version of the hyperparameter.
struct Taker {
  const Policy* policy;
  const Hyperparameter* own;
};

// The program's own policies first, then by name those that come and go, so that their order has no influence.
std::vector<Taker> takers_of(const std::string& name, const StudyValues& values) {
  std::vector<Taker> out;
  for (const Policy& policy : all_policies())
    for (const Hyperparameter& h : policy.hyperparameters)
      if (h.name == name && simulates(values, policy)) out.push_back({&policy, &h});
  std::ranges::stable_sort(out, {}, [](const Taker& t) { return t.policy->code.empty() ? "" : t.policy->name; });
  return out;
}

// The one whose default is that of hyperparameters.NAME: the first with values of its kind.
Hyperparameter reference_of(const Hyperparameter& general, const std::vector<Taker>& takers) {
  const auto first = std::ranges::find_if(takers, [&](const Taker& t) { return kind_of(*t.own) == kind_of(general); });
  return first == takers.end() ? general : *first->own;
}

// Throws if a value that is set for all policies means different things to those that have it. A policy that declares
// exactly this value accepts it in any case.
void require_one_meaning(const StudyValue& asked, const std::vector<Taker>& takers, const StudyValues& values) {
  const Taker* first = nullptr;
  for (const Taker& taker : takers) {
    const std::string key = own_key(*taker.policy, taker.own->name);
    if (is_asked(values, key)) continue;
    if (kind_of(*taker.own) != asked.kind)
      refuse(asked.where, "policy {} takes {} here, such as {}; give {}", taker.policy->name,
             kind_of(*taker.own) == Kind::texts ? "texts" : "numbers", standard_of(*taker.own, "").toml(), key);
    const std::string other = standard_of(*taker.own, "").toml();
    if (other == asked.toml()) continue;
    if (first == nullptr) first = &taker;
    if (const std::string one = standard_of(*first->own, "").toml(); one != other)
      refuse(asked.where,
             "policies {} and {} each have a {}, by default {} and {}, which may mean different things; set {} and "
             "{} instead",
             first->policy->name, taker.policy->name, taker.own->name, one, other,
             own_key(*first->policy, taker.own->name), key);
  }
}

}  // namespace

std::vector<StudyKey> hyperparameter_keys() {
  std::vector<StudyKey> keys;
  for (const Hyperparameter& h : all_hyperparameters())
    keys.push_back(key_of(h, std::string(kHyperparameters) + h.name, h.meaning + "."));
  return keys;
}

std::vector<StudyKey> hyperparameter_keys_of(const std::string& policy) {
  std::vector<StudyKey> keys;
  if (const Policy* const known = find_policy(policy))
    for (const Hyperparameter& h : known->hyperparameters) {
      keys.push_back(key_of(h, own_key(*known, h.name), fmt::format("{}, of {} alone.", h.meaning, policy)));
      keys.back().apply = [](Study&, const StudyValue&) {};  // apply_hyperparameters does this
    }
  return keys;
}

std::vector<StudyKey> own_hyperparameter_keys(const StudyValues& values) {
  std::vector<StudyKey> out;
  const std::vector<Hyperparameter> general = all_hyperparameters();
  for (const Policy& policy : all_policies()) {
    std::vector<StudyKey> keys = hyperparameter_keys_of(policy.name);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto of_all = std::ranges::find(general, policy.hyperparameters[k].name, &Hyperparameter::name);
      if (values.empty() ? keys[k].standard != standard_of(*of_all, "").toml() : values.contains(keys[k].name))
        out.push_back(std::move(keys[k]));
    }
  }
  return out;
}

std::string policy_in(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return key.starts_with(kHyperparameters) && dot >= kHyperparameters.size()
             ? key.substr(kHyperparameters.size(), dot - kHyperparameters.size())
             : "";
}

void require_policy(const std::string& name, const std::string& where, const char* lead) {
  if (find_policy(name) != nullptr) return;
  std::vector<std::string> names;
  for (const Policy& known : all_policies()) names.push_back(known.name);
  refuse(where, "{}\"{}\" is unknown{}; `pandora policies` lists the policies", lead, name,
         nearest_text(nearest(name, names)));
}

void refuse_hyperparameter(const std::string& key, const std::string& where) {
  const std::string name = policy_in(key), word = key.substr(key.rfind('.') + 1);
  require_policy(name, where, "policy ");
  std::vector<std::string> names;
  for (const Hyperparameter& h : find_policy(name)->hyperparameters) names.push_back(h.name);
  refuse(where, "policy {} has no hyperparameter {}{}; it has {}", name, word, nearest_text(nearest(word, names)),
         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

bool simulates(const StudyValues& values, const Policy& policy) {
  return lists(values.at("policies").texts, policy);
}

StudyValue standard_hyperparameter(const std::string& name, const StudyValues& values) {
  const std::vector<Hyperparameter> general = all_hyperparameters();
  const Hyperparameter& of_all = *std::ranges::find(general, name, &Hyperparameter::name);
  return standard_of(reference_of(of_all, takers_of(name, values)), std::string(kHyperparameters) + name);
}

StudyValues with_own_hyperparameters(StudyValues values, bool foreign) {
  for (const Hyperparameter& general : all_hyperparameters()) {
    const std::string key = std::string(kHyperparameters) + general.name;
    const std::vector<Taker> takers = takers_of(general.name, values);
    if (takers.empty() && !values.contains(key)) continue;  // the policy was registered later
    const bool asked = is_asked(values, key);
    const StudyValue standard = standard_of(reference_of(general, takers), key);
    if (!asked) values[key] = standard;
    const StudyValue of_all = values[key];
    if (asked && !foreign) require_one_meaning(of_all, takers, values);
    for (const auto& [policy, own] : takers) {
      const std::string its = own_key(*policy, general.name);
      if (is_asked(values, its)) continue;
      const StudyValue own_standard = standard_of(*own, its);
      const StudyValue& takes = asked && kind_of(*own) == of_all.kind ? of_all : own_standard;
      if (takes.toml() != of_all.toml() || own_standard.toml() != standard.toml()) values[its] = takes;
    }
  }
  return values;
}

void apply_hyperparameters(const StudyValues& values, Study& study) {
  for (const Hyperparameter& general : all_hyperparameters()) {
    const auto of_all = values.find(std::string(kHyperparameters) + general.name);
    if (of_all == values.end()) continue;
    const std::vector<Taker> takers = takers_of(general.name, values);
    if (takers.empty()) require_bounds(of_all->second, general, "");
    for (const auto& [policy, own] : takers) {
      const auto its = values.find(own_key(*policy, general.name));
      const StudyValue& value = its == values.end() ? of_all->second : its->second;
      require_values(value);
      require_bounds(value, *own, takers.size() > 1 ? policy->name : "");
      if (its == values.end()) continue;
      Grids& grids = study.hyperparameters_of.try_emplace(policy->name, study.hyperparameters).first->second;
      set_values(grids, general.name, value);
    }
  }
}

}  // namespace pandora
