#include <gtest/gtest.h>

namespace pandora {

#ifdef PANDORA_HAVE_CUDA
bool device_functors_linked();  // kernels/device_functors.cu

// The proof is that this links: nvcc has compiled every functor as device code.
TEST(DeviceFunctors, CompileAndLink) {
  EXPECT_TRUE(device_functors_linked());
}
#endif

}  // namespace pandora
