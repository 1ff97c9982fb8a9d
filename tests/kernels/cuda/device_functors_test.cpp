#include <gtest/gtest.h>

#include "tests/reference/require_gpu.hpp"

namespace pandora {

#ifdef PANDORA_HAVE_CUDA
bool device_functors_linked();  // tests/kernels/cuda/device_functors.cu
bool cublas_loads();
long device_functor_mismatches(int items);  // tests/kernels/cuda/device_parity.cu

// If this test links, nvcc has compiled every functor as device code.
TEST(DeviceFunctors, CompileAndLink) {
  EXPECT_TRUE(device_functors_linked());
}

TEST(DeviceFunctors, CublasIsFoundWhenItIsNeeded) {
  EXPECT_TRUE(cublas_loads());
}

// This is the reason why all backends can share a tape.
TEST(DeviceFunctorsGpu, EqualTheCpuInEveryBit) {
  PANDORA_REQUIRE_GPU();
  EXPECT_EQ(device_functor_mismatches(100000), 0);
}
#endif

}  // namespace pandora
