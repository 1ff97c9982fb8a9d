// What an environment in Python is asked for: a replication, with the paper's model of it to start from.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "bindings.hpp"
#include "pandora/environment.hpp"

namespace pandora::python {

/// 1 + C + T: x_0, the calibration periods, the online periods.
std::size_t rows_of(const ReplicationRequest& request);

/// What decides the indices of the model, or of one with another theta_*.
struct IndexProblem {
  Instance instance;
  ShockSample sample;
  IndexInputs inputs;                       // all rows x A
  std::vector<double> scale, context_cost;  // rows x A: s_a(x), c_{0,a} G(beta_{0,a}' x)

  IndexProblem(const ReplicationRequest& asked, Instance of);
};

/// A request, and the model's parameters and index problem, drawn when they are first asked for. Copies share them.
class ModelRequest {
 public:
  explicit ModelRequest(const ReplicationRequest& request) : asked(request), drawn_(std::make_shared<Drawn>()) {}

  const ReplicationRequest asked;

  // Without the GIL, as they take seconds.
  const Instance& instance() const;
  const IndexProblem& problem() const;

 private:
  struct Drawn {
    std::mutex mutex;
    std::unique_ptr<const Instance> instance;
    std::unique_ptr<const IndexProblem> problem;
  };
  std::shared_ptr<Drawn> drawn_;
};

void bind_request(nb::module_& module);

}  // namespace pandora::python
