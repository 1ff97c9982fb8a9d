"""A recipe for Spack: `spack repo create`, then this file as packages/pandora-box/package.py there."""

from spack.package import *


class PandoraBox(CMakePackage, CudaPackage):
    """Learning policies for the online contextual Pandora's box, at full scale."""

    version("main", branch="main")

    variant("mpi", default=True, description="Ranks of one mpirun")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("eigen@3.4:")
    depends_on("cli11")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("tomlplusplus")
    depends_on("openssl")
    depends_on("simdjson")
    depends_on("zlib-api")
    depends_on("hdf5")
    depends_on("boost+math")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")

    requires("%gcc@12:", "%clang@14:", policy="one_of")

    def cmake_args(self):
        return [
            self.define("PANDORA_TESTS", False),
            self.define("PANDORA_NATIVE", False),  # Spack's compiler wrapper names the target
            self.define("PANDORA_CUDA", self.spec.satisfies("+cuda")),
            self.define_from_variant("PANDORA_MPI", "mpi"),
        ]
