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
configure_file(${SOURCE}/host/build_info.hpp.in ${OUTPUT} @ONLY)
