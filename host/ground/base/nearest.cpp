#include "host/ground/base/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

constexpr double kNear = 0.34;    // the most mistakes in a component, as a share: one in three letters
constexpr std::size_t kPart = 3;  // a part of a name with this many letters is enough

std::string lower_case(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// The least number of changes from one sequence to the other: an item inserted, an item left out, one replaced by
// another at the cost `replaced(i, j)`, or two neighbours exchanged if `exchanged(i, j)` holds for the later of them.
template <class Replaced, class Exchanged>
double edit_distance(std::size_t a, std::size_t b, const Replaced& replaced, const Exchanged& exchanged) {
  std::vector<double> before(b + 1), row(b + 1), next(b + 1);
  std::iota(row.begin(), row.end(), 0.0);
  for (std::size_t i = 0; i < a; ++i) {
    next[0] = row[0] + 1.0;
    for (std::size_t j = 0; j < b; ++j) {
      next[j + 1] = std::min({row[j + 1] + 1.0, next[j] + 1.0, row[j] + replaced(i, j)});
      if (i > 0 && j > 0 && exchanged(i, j)) next[j + 1] = std::min(next[j + 1], before[j - 1] + 1.0);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b];
}

// For letters, where replacing one by another costs `replaced`.
double mistakes_in(std::string_view a, std::string_view b, double replaced) {
  return edit_distance(
      a.size(), b.size(), [&](std::size_t i, std::size_t j) { return a[i] == b[j] ? 0.0 : replaced; },
      [&](std::size_t i, std::size_t j) { return a[i] == b[j - 1] && a[i - 1] == b[j]; });
}

// From 0, the same, to 1, nothing in common.
double component_distance(std::string_view a, std::string_view b) {
  const std::size_t less = std::min(a.size(), b.size()), more = std::max(a.size(), b.size());
  if (more == 0) return 0.0;
  const double lengths = static_cast<double>(less) / static_cast<double>(more);
  double distance = 1.0;
  if (less >= kPart && (a.size() < b.size() ? b.find(a) : a.find(b)) != std::string_view::npos)
    distance = kNear * (1.0 - lengths);
  if (lengths < 0.5) return distance;  // saves the time for words of a thousand letters
  const double mistakes = mistakes_in(a, b, 1.0) / static_cast<double>(more);
  return mistakes <= 0.5 ? std::min(distance, mistakes)
                         : distance;  // more mistakes are chance, and do not tell which name is meant
}

}  // namespace

std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates,
                                 std::size_t most) {
  const std::vector<std::string> own = split(lower_case(word) + "/", '/');
  // Candidates share most of their components: each is compared with the word's once.
  std::unordered_map<std::string, std::vector<double>> known;
  const auto distances_of = [&](const std::string& component) -> const std::vector<double>& {
    const auto [at, is_new] = known.try_emplace(component);
    if (is_new)
      for (const std::string& mine : own) at->second.push_back(component_distance(mine, component));
    return at->second;
  };
  std::vector<std::pair<double, std::size_t>> found;  // distance and index
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const std::vector<std::string> its = split(lower_case(candidates[index]) + "/", '/');
    const double distance = edit_distance(
        its.size(), own.size(), [&](std::size_t i, std::size_t j) { return distances_of(its[i])[j]; },
        [](std::size_t, std::size_t) { return false; });
    const std::size_t length = std::max(own.size(), its.size());
    const double allowed = kNear * static_cast<double>(length);
    if (distance <= (length > 1 ? std::max(1.0, allowed) : allowed)) found.emplace_back(distance, index);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (const auto& [distance, index] : found) {
    // If one name is clearly nearer, the others do not help.
    if (out.size() == most || distance > 1.5 * found[0].first + 1e-9) break;
    out.push_back(candidates[index]);
  }
  return out;
}

bool is_misspelt(std::string_view word, std::string_view name) {
  constexpr std::size_t kLong = 6;
  return mistakes_in(word, name, name.size() < kLong ? 2.0 : 1.0) == 1.0;
}

std::string nearest_text(const std::vector<std::string>& found) {
  if (found.empty()) return "";
  return fmt::format("; the nearest {} {}", found.size() == 1 ? "is" : "are", fmt::join(found, ", "));
}

}  // namespace pandora
