#include "host/ground/base/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace pandora {
namespace {

constexpr double kNear = 0.34;    // of a component: one mistake in three letters
constexpr std::size_t kPart = 3;  // letters of a name that are enough to be meant

std::string lower_case(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::vector<std::string> components_of(const std::string& name) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    out.push_back(name.substr(at, slash - at));
    at = slash + 1;
  }
  return out;
}

// Letters to insert, to leave out, to replace, or neighbours to exchange.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

// From 0, the same, to 1, nothing in common.
double component_distance(std::string_view a, std::string_view b) {
  const std::size_t less = std::min(a.size(), b.size()), more = std::max(a.size(), b.size());
  if (more == 0) return 0.0;
  const double lengths = static_cast<double>(less) / static_cast<double>(more);
  double distance = 1.0;
  if (less >= kPart && (a.size() < b.size() ? b.find(a) : a.find(b)) != std::string_view::npos)
    distance = kNear * (1.0 - lengths);
  if (lengths < 0.5) return distance;  // and no time for words of a thousand letters
  const double mistakes = static_cast<double>(edit_distance(a, b)) / static_cast<double>(more);
  return mistakes <= 0.5 ? std::min(distance, mistakes)
                         : distance;  // more are chance, and say nothing of which is meant
}

}  // namespace

std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates,
                                 std::size_t most) {
  const std::vector<std::string> own = components_of(lower_case(word));
  // Candidates share most of their components: each is compared with the word's once.
  std::unordered_map<std::string, std::vector<double>> known;
  const auto distances_of = [&](const std::string& component) -> const std::vector<double>& {
    const auto [at, is_new] = known.try_emplace(component);
    if (is_new)
      for (const std::string& mine : own) at->second.push_back(component_distance(mine, component));
    return at->second;
  };
  struct Found {
    double distance;
    std::size_t index;
  };
  std::vector<Found> found;
  std::vector<double> row(own.size() + 1), next(own.size() + 1);
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const std::vector<std::string> its = components_of(lower_case(candidates[index]));
    std::iota(row.begin(), row.end(), 0.0);
    for (const std::string& component : its) {
      const std::vector<double>& distances = distances_of(component);
      next[0] = row[0] + 1.0;
      for (std::size_t j = 1; j <= own.size(); ++j)
        next[j] = std::min({row[j] + 1.0, next[j - 1] + 1.0, row[j - 1] + distances[j - 1]});
      row.swap(next);
    }
    const std::size_t length = std::max(own.size(), its.size());
    const double allowed = kNear * static_cast<double>(length);
    if (row.back() <= (length > 1 ? std::max(1.0, allowed) : allowed)) found.push_back({row.back(), index});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.distance < b.distance; });
  std::vector<std::string> out;
  for (const Found& f : found) {
    // Where one is clearly nearer, the others are no help.
    if (out.size() == most || f.distance > 1.5 * found[0].distance + 1e-9) break;
    out.push_back(candidates[f.index]);
  }
  return out;
}

std::string nearest_text(const std::vector<std::string>& found) {
  if (found.empty()) return "";
  return fmt::format("; the nearest {} {}", found.size() == 1 ? "is" : "are", fmt::join(found, ", "));
}

}  // namespace pandora
