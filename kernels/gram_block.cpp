#include "kernels/gram_block.hpp"

#include <cmath>

#include "kernels/block_products.hpp"
#include "kernels/hd.hpp"

namespace pandora {

template <class Real>
GramBlock<Real>::GramBlock(int m, int stride, int B)
    : m_(m),
      stride_(stride),
      width_(padded_to_vector<Real>(B)),
      image_(static_cast<std::size_t>(B) * stride),
      gram_(static_cast<std::size_t>(B) * width_),
      diagonal_(static_cast<std::size_t>(width_)),
      row_(static_cast<std::size_t>(width_)),
      column_(static_cast<std::size_t>(B) * width_),
      u_(static_cast<std::size_t>(B) * stride),
      v_(static_cast<std::size_t>(stride)),
      log_(static_cast<std::size_t>(B)) {}

template <class Real>
void GramBlock<Real>::form(const Real* P, const Real* const* psi, const Real* transposed, int B) {
  B_ = B;
  updates_ = columns_ = materialised_ = materialised_columns_ = 0;
  form_images(P, m_, stride_, psi, B, image_.data());
  form_gram(image_.data(), m_, stride_, transposed, B, width_, gram_.data());
  for (int j = 0; j < B; ++j) diagonal_[j] = gram_[static_cast<std::size_t>(j) * width_ + j];
}

template <class Real>
Real GramBlock<Real>::update(int j, Real h) {
  using S = Simd<Real>;
  const int first = j / S::width * S::width;
  const Real* gram = gram_.data() + static_cast<std::size_t>(j) * width_;
  for (int i = first; i < width_; i += S::width) {
    typename S::Vector row = S::load(gram + i);
    const Real* column = column_.data() + i;
    for (int q = 0; q < columns_; ++q, column += width_)
      row = S::fused_negative(S::broadcast(column_[static_cast<std::size_t>(q) * width_ + j]), S::load(column), row);
    S::store(row_.data() + i, row);
  }
  const Real s = Real(1) + h * row_[j];
  const Real f = std::sqrt(h / s);
  log_[updates_++] = {j, f, columns_};
  if (h > Real(0)) {
    Real* column = column_.data() + static_cast<std::size_t>(columns_++) * width_;
    for (int i = first; i < width_; i += S::width) {
      const typename S::Vector c = S::broadcast(f) * S::load(row_.data() + i);
      S::store(column + i, c);
      S::store(diagonal_.data() + i, S::fused_negative(c, c, S::load(diagonal_.data() + i)));
    }
  }
  return s;
}

template <class Real>
const Real* GramBlock<Real>::vector(int update) {
  using S = Simd<Real>;
  const Update& entry = log_[update];
  const Real* image = image_.data() + static_cast<std::size_t>(entry.period) * stride_;
  Real* const u = u_.data() + static_cast<std::size_t>(entry.columns_before) * stride_;
  constexpr int kTile = 4 * S::width;
  for (int first = 0; first < stride_; first += kTile) {
    const int vectors = (stride_ - first < kTile ? stride_ - first : kTile) / S::width;
    typename S::Vector v[4] = {};
    for (int k = 0; k < vectors; ++k) v[k] = S::load(image + first + k * S::width);
    for (int q = 0; q < entry.columns_before; ++q) {
      const auto weight = S::broadcast(column_[static_cast<std::size_t>(q) * width_ + entry.period]);
      const Real* uq = u_.data() + static_cast<std::size_t>(q) * stride_ + first;
      for (int k = 0; k < vectors; ++k) v[k] = S::fused_negative(weight, S::load(uq + k * S::width), v[k]);
    }
    for (int k = 0; k < vectors; ++k) {
      S::store(v_.data() + first + k * S::width, v[k]);
      if (entry.f > Real(0)) S::store(u + first + k * S::width, S::broadcast(entry.f) * v[k]);
    }
  }
  if (entry.f > Real(0)) materialised_columns_ = entry.columns_before + 1;
  return v_.data();
}

template <class Real>
void GramBlock<Real>::multiply(const Real* P, const Real* x, Real* out) const {
  for (int i = 0; i < m_; ++i) out[i] = Real(0);
  const auto add = [&](const Real* row, Real weight) {
    PANDORA_SIMD
    for (int i = 0; i < m_; ++i) out[i] += weight * row[i];
  };
  for (int l = 0; l < m_; ++l) add(P + static_cast<std::size_t>(l) * stride_, x[l]);
  for (int q = 0; q < materialised_columns_; ++q) {
    const Real* u = u_.data() + static_cast<std::size_t>(q) * stride_;
    Real dot = Real(0);
    for (int i = 0; i < m_; ++i) dot += u[i] * x[i];
    add(u, -dot);
  }
}

template <class Real>
void GramBlock<Real>::apply(Real* P) {
  materialise([](int, const Real*) {});
  rank_update(P, m_, stride_, u_.data(), columns_, UpdateSign::subtract);
}

template <class Real>
bool GramBlock<Real>::sound(const Real* squared_norm, Real factor) const {
  for (int j = 0; j < B_; ++j)
    if (!(diagonal_[j] > Real(0) && diagonal_[j] <= factor * squared_norm[j])) return false;
  return true;
}

template class GramBlock<float>;
template class GramBlock<double>;

}  // namespace pandora
