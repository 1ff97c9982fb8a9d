#include "host/studies/study/finite_problem.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/studies/study/toml_text.hpp"

namespace pandora {
namespace {

// The members of a table of the file. It is refused if it has other keys than the known ones. `where`: file and table.
class Members {
 public:
  Members(const toml::table& table, std::string where, std::vector<std::string> known)
      : table_(table), where_(std::move(where)) {
    for (const auto& [key, node] : table_)
      if (const std::string name(key.str()); std::ranges::find(known, name) == known.end())
        fail(ExitCode::usage, "{}: has no key {}{}; it has {}", where_, name, nearest_text(nearest(name, known)),
             fmt::join(known, ", "));
  }

  // Nothing where the table lacks the key.
  template <class T>
  std::optional<T> get(const char* key, const char* wanted) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    if (const std::optional<T> value = node->value<T>()) return value;
    refuse(key, wanted);
  }
  std::vector<double> numbers(const char* key) const {
    std::vector<double> out;
    for (const toml::node& one : array(key, "a list of numbers, such as [0.0, 1.0]")) {
      const std::optional<double> value = one.value<double>();
      if (!value) refuse(key, "a list of numbers, such as [0.0, 1.0]");
      out.push_back(*value);
    }
    return out;
  }
  const toml::array& array(const char* key, const char* wanted) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr || !node->is_array()) refuse(key, wanted);
    return *node->as_array();
  }
  const toml::table* table(const char* key) const {
    const toml::node* const node = table_.get(key);
    if (node != nullptr && !node->is_table()) refuse(key, "a table");
    return node == nullptr ? nullptr : node->as_table();
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* wanted) const {
    fail(ExitCode::usage, "{}, {}: give {}", where_, key, wanted);
  }

  const toml::table& table_;
  const std::string where_;
};

constexpr int kMostOpenings = 1000;

}  // namespace

void require_sound(const FiniteProblem& problem, const std::string& where) {
  if (problem.boxes.empty()) fail(ExitCode::usage, "{}: has no box; give at least one [[box]]", where);
  if (problem.outside && !std::isfinite(*problem.outside))
    fail(ExitCode::usage, "{}, outside: is {}; give a finite number", where, *problem.outside);
  for (std::size_t i = 0; i < problem.boxes.size(); ++i) {
    const FiniteBox& box = problem.boxes[i];
    const auto refuse = [&](const std::string& what) { fail(ExitCode::usage, "{}, box {}: {}", where, i + 1, what); };
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!(box.cost >= 0.0 && finite(box.cost)))
      refuse(fmt::format("cost is {}; give a finite cost of 0 or more", box.cost));
    if (box.openings < 1 || box.openings > kMostOpenings)
      refuse(fmt::format("openings is {}; give 1 to {}", box.openings, kMostOpenings));
    if (box.values.empty() || box.values.size() != box.probabilities.size())
      refuse(fmt::format("has {} values and {} probabilities; give each value one", box.values.size(),
                         box.probabilities.size()));
    if (!std::ranges::all_of(box.values, finite)) refuse("a value is not finite; give finite values");
    std::vector<double> sorted = box.values;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end())
      refuse("a value stands there twice; add their probabilities");
    for (const double p : box.probabilities)
      if (!(p > 0.0)) refuse(fmt::format("a probability is {}; give positive ones, only for values that can occur", p));
    const double sum = std::accumulate(box.probabilities.begin(), box.probabilities.end(), 0.0);
    if (!(std::abs(sum - 1.0) <= 1e-9))
      refuse(fmt::format("probabilities sum to {:.10g}; give positive ones with sum 1", sum));
  }
  if (const double states = count_states(problem); states > kMostFiniteStates)
    fail(ExitCode::usage, "{}: has {:.2g} states, more than {:.0e}; give fewer boxes, values or openings", where,
         states, kMostFiniteStates);
}

FiniteProblem read_finite_problem(const std::string& path) {
  try {
    return finite_problem_of(read_file(path, kMostStudyBytes), path);
  } catch (const Unreadable& problem) {
    fail(ExitCode::usage, "{}: {}; name a file with a table [[box]] for each box, such as {}", path, problem.what(),
         "examples/finite/three-boxes.toml");
  }
}

std::string laws_text(const FiniteProblem& problem) {
  std::string out;
  for (const FiniteBox& box : problem.boxes)
    out += fmt::format("[[box]]\ncost = {}\nvalues = [{}]\nprobabilities = [{}]\n", box.cost,
                       fmt::join(box.values, ", "), fmt::join(box.probabilities, ", "));
  return out;
}

FiniteProblem finite_problem_of(const std::string& text, const std::string& path) {
  const toml::table file = table_of(text, path);
  FiniteProblem out;
  const Members all(file, path, {"box", "actions"});
  for (const toml::node& node : all.array("box", "a table [[box]] for each box")) {
    const std::string where = fmt::format("{}, box {}", path, out.boxes.size() + 1);
    if (!node.is_table()) fail(ExitCode::usage, "{}: give a table, [[box]]", where);
    const Members box(*node.as_table(), where, {"cost", "values", "probabilities", "openings"});
    FiniteBox& of = out.boxes.emplace_back();
    const std::optional<double> cost = box.get<double>("cost", "a number of 0 or more");
    if (!cost) fail(ExitCode::usage, "{}: has no cost; give one, such as cost = 0.1", where);
    of.cost = *cost;
    of.values = box.numbers("values");
    of.probabilities = box.numbers("probabilities");
    const std::int64_t openings = box.get<std::int64_t>("openings", "a whole number of 1 or more").value_or(1);
    if (openings < 1 || openings > kMostOpenings)
      fail(ExitCode::usage, "{}: openings is {}; give 1 to {}", where, openings, kMostOpenings);
    of.openings = static_cast<int>(openings);
  }
  if (const toml::table* const actions = all.table("actions")) {
    const Members of(*actions, path + ", actions", {"uninspected", "outside"});
    out.uninspected = of.get<bool>("uninspected", "true or false").value_or(false);
    out.outside = of.get<double>("outside", "a number");
  }
  require_sound(out, path);
  return out;
}

}  // namespace pandora
