// The request to an environment in Python: a replication, with the paper's model of it as a start.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "bindings.hpp"
#include "pandora/environment.hpp"

namespace pandora::python {

/// 1 + C + T: x_0, the calibration periods, the online periods.
std::size_t rows_of(const ReplicationRequest& request);

/// The shape of an array with the field's numbers.
std::vector<std::size_t> shape_of(const InstanceField& field, const Instance& instance);

/// Refuses an environment whose oracle is not that of the paper's model.
void require_model(const Environment& environment);

/// The inputs of the indices of the model, or of the model with another theta_*.
struct IndexProblem {
  Instance instance;
  ShockSample sample;
  IndexInputs inputs;                       // rows x A each
  std::vector<double> scale, context_cost;  // rows x A: s_a(x), c_{0,a} G(beta_{0,a}' x)

  IndexProblem(const ReplicationRequest& asked, Instance of);
};

/// A request with the model's parameters and index problem, which are drawn when they are first asked for. Copies share
/// them.
class ModelRequest {
 public:
  explicit ModelRequest(const ReplicationRequest& request) : asked(request), drawn_(std::make_shared<Drawn>()) {}

  const ReplicationRequest asked;

  // Called without the GIL, because they take seconds.
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
