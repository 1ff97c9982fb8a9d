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

/// The arguments with which a study asks for a replication.
struct ReplicationRequest {
  Dimensions dimensions;
  Environment environment;
  Regime regime;
  std::uint32_t replication;
  std::uint64_t seed;
  int calibration_periods;  ///< rows of the tape before the online ones, not counting x_0
  int periods;              ///< T
  OracleOptions oracle;
  FeedbackRules feedback = {};  ///< the study applies these; a drawer need not
  Pacing budget = {};           ///< the budget that the benchmark keeps to
  Actions actions = {};         ///< the study's
};

/// Draws everything about one replication: instance, tape and the oracle's indices of its online rows (sigma). It must
/// depend on its arguments alone, because several threads may call it at once. draw_instance, draw_tape,
/// draw_shock_sample and oracle_indices are the parts that the paper's environments use; a drawer may use any of them.
using ReplicationDrawer = std::function<Replication(const ReplicationRequest&)>;

/// The paper's three, then the registered ones.
const std::list<Environment>& known_environments();

/// The environment of that name; nullptr if there is none.
const Environment* find_environment(const std::string& name);

/// The drawer of a registered environment; empty if the paper's model draws it.
const ReplicationDrawer& find_drawer(const std::string& environment);

/// Makes an environment known to studies. Its id is a coordinate of its random streams and must differ from 0
/// (uniform), 1 (gaussian), 2 (student_t5) and from the ids of all other environments. With Law::custom and a
/// coordinate function, the paper's model is drawn with that law. With a drawer, the drawer makes everything. Both run
/// on the CPU. Call this before anything else runs. `code` is like Policy::code: an environment with a code may be
/// registered while no study runs, and then replaces one of its name that has a code too. Throws Error (usage) if name
/// or id are taken or the name is not made of letters, digits, _ and -.
void register_environment(Environment environment, ReplicationDrawer drawer = {}, const std::string& code = "");

/// The code that an environment was registered with; empty if it has none.
std::string code_of_environment(const std::string& name);

/// Whether an environment was registered without a code.
bool has_registered_environments();

}  // namespace pandora
