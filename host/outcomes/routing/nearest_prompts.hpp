// The prompts nearest to another one by Euclidean distance: for one prompt, and for many at once.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pandora {

/// The `count` of the prompts (m x prompts) that are nearest to psi by Euclidean distance, of equal ones the first: in
/// the order of prompts, or the nearest first. count is at least 1.
std::vector<std::size_t> nearest_prompts(std::span<const double> prompts, std::span<const double> psi,
                                         std::size_t count, bool nearest_first);

/// The same for many psi. Products of matrices of floats, whose errors are bounded, tell which prompts are certainly
/// among the nearest and which certainly are not; the few between them are compared as above.
class NearestPrompts {
 public:
  /// prompts: m x prompts.
  NearestPrompts(std::span<const double> prompts, std::size_t m);

  /// psi: many x m. found(i, rows) is called once for each, in their order.
  void find(std::span<const double> psi, std::size_t count, bool nearest_first,
            const std::function<void(std::size_t, std::span<const std::size_t>)>& found) const;

 private:
  // Of one psi, whose distances to all prompts are `away`, up to a number that is the same for all and to `error`. `near`: room for all prompts.
  void choose(const double* psi, std::span<const float> away, float error, std::size_t count,
              std::vector<std::uint32_t>& near, std::vector<std::size_t>& out) const;
  double distance(const double* psi, std::size_t prompt) const;

  std::size_t m_, prompts_;
  std::vector<double> columns_;  // m x prompts, and prompts x m
  std::vector<double> rows_;
  Eigen::MatrixXf factors_;  // prompts x (m + 1): -2 the prompts, and their squares
  double most_square_ = 0.0;
};

}  // namespace pandora
