#include "host/lanes/model/ties.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/ground/base/lists.hpp"
#include "host/ground/base/printable.hpp"
#include "pandora/error.hpp"

namespace pandora {

BoxGroups parse_ties(const std::string& text) {
  BoxGroups out;
  if (text.empty()) return out;
  for (const std::string& group : split(text, ',')) {
    out.emplace_back();
    for (const std::string& box : split(group, '+')) {
      const std::optional<int> number = whole_within(box, 1, kMaxBoxes);
      if (!number)
        throw Error(
            ExitCode::usage,
            fmt::format("give groups of boxes, counted from 1 to {} at most, such as [[1, 2], [3]]", kMaxBoxes));
      out.back().push_back(*number - 1);
    }
  }
  return out;
}

std::string ties_text(const BoxGroups& ties) {
  std::vector<std::string> groups;
  for (const std::vector<int>& group : ties) {
    std::vector<int> boxes;
    for (const int box : group) boxes.push_back(box + 1);
    groups.push_back(fmt::format("{}", fmt::join(boxes, "+")));
  }
  return fmt::format("{}", fmt::join(groups, ","));
}

std::string fault_of_ties(const BoxGroups& ties, int A) {
  std::vector<int> seen;
  for (const std::vector<int>& group : ties)
    for (const int box : group) {
      if (box >= A) return fmt::format("names box {} of {}; name boxes that there are", box + 1, A);
      if (std::ranges::count(seen, box) > 0) return fmt::format("names box {} twice; name each box once", box + 1);
      seen.push_back(box);
    }
  const auto ties_some = [](const std::vector<int>& group) { return group.size() > 1; };
  if (!ties.empty() && std::ranges::none_of(ties, ties_some))
    return "ties no two boxes; give groups such as [[1, 2], [3]]";
  return "";
}

void tie_slopes(LaneSpec& spec, const BoxGroups& ties, int A) {
  int next = 0;
  std::vector<int> group(static_cast<std::size_t>(A), -1);
  for (const std::vector<int>& boxes : ties) {
    for (const int box : boxes) group[static_cast<std::size_t>(box)] = next;
    ++next;
  }
  for (int a = 0; a < A; ++a) {
    int& own = group[static_cast<std::size_t>(a)];
    if (own < 0) own = next++;
    spec.tie[a] = static_cast<std::uint8_t>(own);
  }
  for (int a = 0; a < A; ++a)
    spec.tied[a] = static_cast<std::uint8_t>(std::ranges::count(group, group[static_cast<std::size_t>(a)]));
}

}  // namespace pandora
