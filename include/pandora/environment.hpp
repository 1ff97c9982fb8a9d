// The environments that a study can name: the paper's, and those that a program registers.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "kernels/rules/pacing.hpp"
#include "oracle/oracle.hpp"
#include "pandora/feedback.hpp"
#include "pandora/paper_setting.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// What a study asks of a replication.
struct ReplicationRequest {
  Dimensions dimensions;
  Environment environment;
  Regime regime;
  std::uint32_t replication;
  std::uint64_t seed;
  int calibration_periods;  ///< rows of the tape before the online ones, beside x_0
  int periods;              ///< T
  OracleOptions oracle;
  FeedbackRules feedback = {};  ///< a drawer need not look at it: what it draws is told of as these say
  Pacing budget = {};           ///< what the benchmark keeps to
};

/// Draws everything about one replication: instance, tape and the oracle's indices of its online rows (sigma). Must
/// depend on its arguments alone and may be called by several threads at once. draw_instance, draw_tape,
/// draw_shock_sample and oracle_indices are the parts that the paper's environments are made of; take what fits.
using ReplicationDrawer = std::function<Replication(const ReplicationRequest&)>;

/// The paper's three, then the registered ones.
const std::list<Environment>& known_environments();

/// The environment of that name; nullptr if there is none.
const Environment* find_environment(const std::string& name);

/// The drawer of a registered environment; empty for one that the paper's model draws.
const ReplicationDrawer& find_drawer(const std::string& environment);

/// Makes an environment known to studies. Its id, a coordinate of its random streams, must be none of 0 (uniform),
/// 1 (gaussian), 2 (student_t5) and of no other environment. With Law::custom and a coordinate function the paper's
/// model is drawn with that law; with a drawer anything is possible. Either runs on the CPU. Call it before anything
/// else runs. `code`: as Policy::code; such an environment may be registered while no study is run, and replaces one of
/// its name that has a code too. Throws Error (usage) if name or id are taken or the name is not made of letters,
/// digits, _ and -.
void register_environment(Environment environment, ReplicationDrawer drawer = {}, const std::string& code = "");

/// The code that an environment was registered with; empty if it has none.
std::string code_of_environment(const std::string& name);

/// Whether an environment was registered without a code.
bool has_registered_environments();

}  // namespace pandora
