// The objects that policies in Python get: a lane, requests and outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"

namespace pandora::python {

// A policy gets copies, because it may keep them longer than the replication exists.
struct OwnRequest {
  int period = 0;
  std::shared_ptr<const std::vector<float>> psi;
  std::shared_ptr<const std::vector<double>> sigma;
  unsigned there = kAllBoxes;

  explicit OwnRequest(const Request& request)
      : period(request.period),
        psi(std::make_shared<const std::vector<float>>(request.psi.begin(), request.psi.end())),
        sigma(std::make_shared<const std::vector<double>>(request.sigma.begin(), request.sigma.end())),
        there(request.there) {}

  Request request() const { return {period, *psi, *sigma, there}; }
};

struct OwnOutput {
  int box = 0;
  std::vector<float> phi;
  double cost = 0.0, mu = 0.0;
  bool shows_mu = true;

  OwnOutput(const Output& output, bool shows)
      : box(output.box), phi(output.phi.begin(), output.phi.end()), cost(output.cost), mu(output.mu), shows_mu(shows) {}

  Output output() const { return {box, phi, cost, mu}; }
};

// Describes a lane; valid as long as the lane runs.
struct Lane {
  const Replication* replication = nullptr;
  EstimationOptions estimation;
  int T0 = 0;
  std::string reward, hyperparameter;

  const Replication& there() const {
    if (replication == nullptr) throw misuse("the lane has ended; make estimators while it is run");
    return *replication;
  }
};

/// Adds the estimators with which policies learn.
void bind_estimator(nb::module_& module);

}  // namespace pandora::python
