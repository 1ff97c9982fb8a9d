# Writes generated/build_info.hpp; it changes, and is compiled again, only when the revision does.
find_program(GIT git)
set(PANDORA_REVISION "unknown")
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 OUTPUT_VARIABLE described
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0)
    set(PANDORA_REVISION ${described})
  endif()
endif()
# What the numbers come from, whatever the revision says of documents and uncommitted changes.
file(GLOB_RECURSE sources ${SOURCE}/kernels/*pp ${SOURCE}/kernels/*.cu* ${SOURCE}/oracle/*pp ${SOURCE}/host/*pp ${SOURCE}/include/*pp
     ${SOURCE}/host/*.cu ${SOURCE}/experiments/rivals/*pp)
list(SORT sources)
set(digests "")
foreach(source ${sources})
  file(SHA256 ${source} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 PANDORA_SOURCES "${digests}")
string(SUBSTRING ${PANDORA_SOURCES} 0 16 PANDORA_SOURCES)
configure_file(${SOURCE}/host/ground/machine/build_info.hpp.in ${OUTPUT} @ONLY)
