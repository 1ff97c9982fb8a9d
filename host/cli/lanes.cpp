// Single lanes: `lanes` lists them, `replay` runs one alone, `explain` takes its periods apart. What there is beside
// studies: `policies`, `devices`.
#include <fmt/format.h>

#include <climits>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/base/printable.hpp"
#include "host/lanes/devices/backend_choice.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/run/explain.hpp"

namespace pandora::cli {
namespace {

struct LaneOptions {
  std::string study, lane, setting, period, format = "text";
  LaneChoice choice;

  void add_to(CLI::App& command) {
    command.add_option("study", study, "a study's TOML file, or a folder of results")->required();
    CLI::Option* name =
        command.add_option("--lane", lane, "ENVIRONMENT/REGIME/REPLICATION/T0/POLICY/REWARD[/HYPERPARAMETERS]");
    CLI::Option* policy =
        command.add_option("--policy", choice.policy,
                           "NAME or NAME/REWARD in a folder of results: its best hyperparameters, instead of --lane");
    policy->excludes(name);
    command.add_option("--t0", choice.T0, "of --policy (default: the first that has it)")->needs(policy);
    command.add_option("--environment", choice.environment, "likewise")->needs(policy);
    command.add_option("--regime", choice.regime, "likewise")->needs(policy);
    command.add_option("--replication", choice.replication, "likewise; from 0")->needs(policy)->capture_default_str();
    command.add_option("--setting", setting, "values of the keys that vary, such as \"periods=1000\"");
  }

  std::string lane_name() const {
    if (!choice.policy.empty()) return best_lane(study, setting, choice);
    if (lane.empty()) throw Error(ExitCode::usage, "name a lane: --lane, or --policy in a folder of results");
    return lane;
  }

  // `body` is given the lane that was found.
  template <class Body>
  void with_lane(Body&& body) const {
    const std::vector<PlannedSetting> settings = make_plans(read_study_or_results(study));
    body(find_lane(settings, setting, lane_name()));
  }
};

// t or t:u
std::pair<int, int> parse_period(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto first = whole_within(text.substr(0, colon), INT_MIN, INT_MAX),
             last = colon == std::string::npos ? first : whole_within(text.substr(colon + 1), INT_MIN, INT_MAX);
  if (!first || !last) fail(ExitCode::usage, "--period {}: give t or t:u, such as 12 or 1:5", text);
  return {*first, *last};
}

void list_lanes(const LaneOptions& o) {
  const std::vector<PlannedSetting> settings = make_plans(read_study_or_results(o.study));
  if (!o.setting.empty()) (void)find_setting(settings, o.setting);
  for (const PlannedSetting& planned : settings) {
    const std::string label = planned.setting.label();
    if (!o.setting.empty() && label != o.setting) continue;
    for (const std::string& name : lane_names(planned))
      print_text(name + (label.empty() ? "" : "  --setting " + shell_word(label)) + "\n");
  }
}

}  // namespace

void add_lanes(CLI::App& program, Session& session) {
  const auto o = std::make_shared<LaneOptions>();
  CLI::App* command = add_command(program, "lanes");
  command->add_option("study", o->study, "a study's TOML file, or a folder of results")->required();
  command->add_option("--setting", o->setting, "only this setting of the keys that vary");
  session.on_call(command, [o] { list_lanes(*o); });
}

void add_replay(CLI::App& program, Session& session) {
  const auto o = std::make_shared<LaneOptions>();
  CLI::App* command = add_command(program, "replay");
  o->add_to(*command);
  session.on_call(command, [o] {
    o->with_lane([](const FoundLane& found) { print_text(replay_text(found, found.run(found.prepare()))); });
  });
}

void add_explain(CLI::App& program, Session& session) {
  const auto o = std::make_shared<LaneOptions>();
  CLI::App* command = add_command(program, "explain");
  o->add_to(*command);
  command->add_option("--period", o->period, "t, or t:u for a range; from 1")->required();
  command->add_option("--format", o->format, "text or json")->capture_default_str();
  session.on_call(command, [o] {
    if (o->format != "text" && o->format != "json")
      fail(ExitCode::usage, "--format {}: unknown; use text or json", o->format);
    const std::pair<int, int> periods = parse_period(o->period);
    o->with_lane([&](const FoundLane& lane) {
      const Explanation found = explain(lane, periods.first, periods.second);
      print_text(o->format == "text" ? explanation_text(found)
                                     : found.told.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    });
  });
}

void add_policies(CLI::App& program, Session& session) {
  session.on_call(add_command(program, "policies"), [] {
    for (const Policy& policy : all_policies()) fmt::print("{:<24}{}\n", policy.name, policy.summary);
  });
}

void add_devices(CLI::App& program, Session& session) {
  session.on_call(add_command(program, "devices"), [] {
    for (const FoundDevices& found : find_all_devices()) fmt::print("{}", devices_text(found.report));
  });
}

}  // namespace pandora::cli
