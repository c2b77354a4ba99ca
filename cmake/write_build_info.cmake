# Writes OUTPUT from TEMPLATE with the commit of SOURCE_DIR ("-dirty" when tracked files differ from it), only if that
# changes OUTPUT. Outside a repository it is the environment's REMORA_COMMIT, or "unknown".
execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE commit RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed OR commit STREQUAL "")
  set(commit "$ENV{REMORA_COMMIT}")
  if(commit STREQUAL "")
    set(commit unknown)
  endif()
endif()
file(READ ${TEMPLATE} content)
string(REPLACE "%COMMIT%" "${commit}" content "${content}")
set(current "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} current)
endif()
if(NOT content STREQUAL current)
  file(WRITE ${OUTPUT} "${content}")
endif()
