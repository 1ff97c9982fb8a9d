// `oracle exact`: the optimal policy of a problem with finite laws.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/ground/base/fail.hpp"
#include "host/studies/study/finite_problem.hpp"

namespace pandora::cli {
namespace {

std::string next_text(const FiniteState& state) {
  switch (state.action) {
    case FiniteAction::deploy:
      return "deploy the best output";
    case FiniteAction::outside:
      return "take the outside option";
    case FiniteAction::uninspected:
      return fmt::format("deploy box {} unopened", state.box + 1);
    case FiniteAction::open:
      return fmt::format("open box {}", state.box + 1);
  }
  return {};
}

// The policy: a row for each state that it reaches.
Table policy_table(const ExactProgramme& programme) {
  Table out;
  out.title = "The optimal policy: the states that it reaches, with what it does next";
  out.columns = {"opened", "best so far", "reached with", "next", "value from here"};
  out.row_headers = 2;
  for (const FiniteState& state : programme.states)
    out.rows.push_back(
        {{fmt::format("{}", fmt::join(state.opened, " ")),
          state.best ? Cell(fmt::format("{:g}", *state.best), false, fmt::format("{}", *state.best)) : "---",
          exact_cell(number_text(state.probability, 4), state.probability), next_text(state),
          exact_cell(number_text(state.value, 6), state.value)}});
  out.notes = {"opened: how often each box has been opened, in the order of the file."};
  return out;
}

nlohmann::json json_of(const FiniteProblem& problem, const ExactProgramme& programme) {
  const Commitment committed = commit_or_search(problem);
  nlohmann::json states = nlohmann::json::array();
  for (const FiniteState& state : programme.states)
    states.push_back({{"opened", state.opened},
                      {"best", state.best ? nlohmann::json(*state.best) : nlohmann::json()},
                      {"probability", state.probability},
                      {"next", next_text(state)},
                      {"value", state.value}});
  return {{"value", programme.value},
          {"weitzman", weitzman_value(problem)},
          {"commit_or_search", {{"value", committed.value}, {"unopened", committed.box < 0 ? 0 : committed.box + 1}}},
          {"relaxation", relaxation_bound(problem)},
          {"states", states}};
}

void print_exact(const std::string& file, const std::string& format) {
  const TableFormat as = format == "json" ? TableFormat::text : parse_table_format(format, "json, ");
  const FiniteProblem problem = read_finite_problem(file);
  const ExactProgramme programme = solve_exactly(problem);
  if (format == "json") return print_text(json_of(problem, programme).dump(2) + "\n");
  if (as == TableFormat::text) {
    const double weitzman = weitzman_value(problem);
    print_text(fmt::format("optimal policy    {:.6f} expected utility per period\n", programme.value));
    print_text(fmt::format("Weitzman's rule   {:.6f}{}\n", weitzman,
                           problem.uninspected ? ", which opens what it deploys" : ", which is optimal here"));
    if (const Commitment committed = commit_or_search(problem); problem.uninspected)
      print_text(fmt::format("commit or search  {:.6f}, {}\n", committed.value,
                             committed.box < 0
                                 ? "which commits to no box"
                                 : fmt::format("which commits to box {} and never opens it", committed.box + 1)));
    print_text(fmt::format("upper bound       {:.6f}, the optimum if one output is deployed only on average\n",
                           relaxation_bound(problem)));
  }
  print_tables({policy_table(programme)}, as);
}

}  // namespace

void add_oracle_exact(CLI::App& oracle, Session& session) {
  struct Options {
    std::string file, format = "text";
  };
  CLI::App* command = add_command(oracle, "exact");
  const auto o = std::make_shared<Options>();
  command->add_option("problem", o->file, "TOML file with a table [[box]] for each box")->required();
  command->add_option("--format", o->format, "text, json, markdown, latex or csv")->capture_default_str();
  session.on_call(command, [o] { print_exact(o->file, o->format); });
}

}  // namespace pandora::cli
