#include "host/lanes/model/box_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "host/ground/base/printable.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "kernels/rules/spec.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

struct Event {
  int at, box;
  bool comes;

  friend auto operator<=>(const Event&, const Event&) = default;
};

std::vector<Event> events_of(const Environment& environment) {
  std::vector<Event> events;
  for (const BoxChange& change : environment.arrives) events.push_back({change.at, change.box, true});
  for (const BoxChange& change : environment.leaves) events.push_back({change.at, change.box, false});
  std::ranges::sort(events);
  return events;
}

// The boxes that are there before the first period: those whose first change is to go, or that never change.
unsigned at_the_start(const std::vector<Event>& events, int boxes) {
  unsigned there = (1u << boxes) - 1;
  for (auto event = events.rbegin(); event != events.rend(); ++event)  // backwards: a box's first change decides
    there = event->comes ? there & ~(1u << event->box) : there | 1u << event->box;
  return there;
}

constexpr std::string_view kLead = "box ";

// The changes as an inline table of TOML, or as a list of them.
std::string table_text(const std::vector<BoxChange>& changes) {
  std::vector<std::string> tables;
  for (const BoxChange& change : changes)
    tables.push_back(fmt::format("{{ box_number = {}, at = {} }}", change.box + 1, change.at));
  return tables.size() == 1 ? tables[0] : fmt::format("[{}]", fmt::join(tables, ", "));
}

}  // namespace

std::vector<BoxChange> parse_box_changes(const std::string& text) {
  std::vector<BoxChange> out;
  bool counts_from_0 = false;
  if (text.empty()) return out;
  for (const std::string& item : split(text, ',')) {
    std::string change = item.substr(std::min(item.find_first_not_of(' '), item.size()));  // "box 3:100, box 1:200"
    const int first = change.starts_with(kLead) ? 1 : 0;
    if (first == 1) change.erase(0, kLead.size());
    counts_from_0 |= first == 0;
    const std::vector<std::string> words = split(change, ':');
    const bool two = words.size() == 2;
    const std::optional<int> box = two ? whole_within(words[0], first, first + kMaxBoxes - 1) : std::nullopt,
                             at = two ? whole_within(words[1], 1, 1000000000) : std::nullopt;
    if (!box || !at)
      throw Error(ExitCode::usage,
                  fmt::format("give \"box NUMBER:PERIOD\", such as \"box 3:1000\", boxes from 1 to {} and periods from "
                              "1 on, and more than one with commas between",
                              kMaxBoxes));
    out.push_back({*box - first, *at});
  }
  if (counts_from_0)
    throw Error(ExitCode::usage,
                fmt::format("write \"{}\" or {}; boxes are counted from 1, and this counted them from 0",
                            box_changes_text(out), table_text(out)));
  return out;
}

std::string box_changes_text(const std::vector<BoxChange>& changes) {
  std::vector<std::string> words;
  for (const BoxChange& change : changes) words.push_back(fmt::format("{}{}:{}", kLead, change.box + 1, change.at));
  return fmt::format("{}", fmt::join(words, ","));
}

void require_box_changes(const Environment& environment, int boxes) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::usage, fmt::format("environment {}: {}; mend environment.{}.arrives or environment.{}.leaves",
                                             environment.name, why, environment.name, environment.name));
  };
  const std::vector<Event> events = events_of(environment);
  for (const Event& event : events)
    if (event.box >= boxes) refuse(fmt::format("box {} comes or goes, and boxes are 1 to {}", event.box + 1, boxes));
  for (std::size_t k = 1; k < events.size(); ++k)
    if (events[k].at == events[k - 1].at && events[k].box == events[k - 1].box)
      refuse(fmt::format("box {} arrives and leaves at period {}", events[k].box + 1, events[k].at));
  unsigned there = at_the_start(events, boxes);
  if (there == 0) refuse("no box is there before the first period");
  for (std::size_t k = 0; k < events.size(); ++k) {
    const Event& event = events[k];
    if (holds(there, event.box) == event.comes)
      refuse(fmt::format("box {} {} at period {}, where it {} already", event.box + 1,
                         event.comes ? "arrives" : "leaves", event.at, event.comes ? "is there" : "has left"));
    there ^= 1u << event.box;
    const bool last_of_period = k + 1 == events.size() || events[k + 1].at != event.at;
    if (there == 0 && last_of_period) refuse(fmt::format("no box is there from period {} on", event.at));
  }
}

void apply_box_changes(const Environment& environment, bool hindsight, Replication& replication) {
  if (environment.arrives.empty() && environment.leaves.empty()) return;
  Tape& tape = replication.tape;
  const int A = tape.boxes();
  require_box_changes(environment, A);
  const std::vector<Event> events = events_of(environment);
  unsigned there = at_the_start(events, A);
  tape.there_by_row.assign(static_cast<std::size_t>(tape.contexts.rows), static_cast<std::uint16_t>(there));
  auto event = events.begin();
  for (int t = 0; t < tape.online_rows; ++t) {
    for (; event != events.end() && event->at <= t + 1; ++event) there ^= 1u << event->box;
    const int row = tape.online_row(t);
    tape.there_by_row[static_cast<std::size_t>(row)] = static_cast<std::uint16_t>(there);
  }
  if (hindsight) set_hindsight_indices(replication);
}

}  // namespace pandora
