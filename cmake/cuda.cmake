# What a CUDA toolkit is asked; tests/package/cuda_test.cmake tests it.

# pandora_gpus(VERSION OUT): the architectures from 8.0 on that a toolkit knows, and PTX of the last.
function(pandora_gpus version out)
  set(${out} 80-real 86-real 89-real 90 PARENT_SCOPE)
  if(version VERSION_GREATER_EQUAL 12.8)
    set(${out} 80-real 86-real 89-real 90-real 100-real 120 PARENT_SCOPE)
  endif()
endfunction()

# pandora_cuda_refusal(OUT): why no toolkit was taken, in the words of the one that is here, if one is.
function(pandora_cuda_refusal out)
  find_program(PANDORA_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(NOT PANDORA_NVCC)
    set(${out} "no toolkit found" PARENT_SCOPE)
    return()
  endif()
  set(${out} "the toolkit of ${PANDORA_NVCC} is older than 12 or lacks cuBLAS or cuRAND" PARENT_SCOPE)
  if(CMAKE_CUDA_COMPILER)
    return()
  endif()
  set(host $ENV{CUDAHOSTCXX})
  if(CMAKE_CUDA_HOST_COMPILER)
    set(host ${CMAKE_CUDA_HOST_COMPILER})
  endif()
  list(TRANSFORM host PREPEND -ccbin=)
  set(nothing ${CMAKE_BINARY_DIR}/CMakeFiles/nothing.cu)
  file(WRITE ${nothing} "")
  execute_process(COMMAND ${PANDORA_NVCC} ${host} -c ${nothing} -o ${nothing}.o OUTPUT_VARIABLE said ERROR_VARIABLE said
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    unset(CMAKE_CUDA_COMPILER CACHE)  # asked again by the next configuration, which may name another
    string(REGEX MATCH "[^\n]*(error|fatal)[^\n]*" why "${said}")
    string(REGEX REPLACE "^.*#error -- | The nvcc flag .*$" "" why "${why}")
    set(${out} "${PANDORA_NVCC} refuses the host compiler (${why}): name one that it takes in CUDAHOSTCXX" PARENT_SCOPE)
  endif()
endfunction()
