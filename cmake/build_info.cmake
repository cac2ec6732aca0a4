# Writes build_info.h, and leaves the file alone when nothing changed so that nothing is compiled again.
set(GIT "")
if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git -C ${SOURCE} describe --tags --always --dirty
        OUTPUT_VARIABLE GIT ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
string(STRIP "${BLAS}" BLAS)
string(REGEX REPLACE " .*" "" BLAS_NAME "${BLAS}")
set(text "/* Written by cmake/build_info.cmake. */
#define BUILD_VERSION \"${VERSION}\"
#define BUILD_COMPILER \"${COMPILER}\"
#define BUILD_BLAS \"${BLAS_NAME}\"
#define BUILD_MUJOCO \"${MUJOCO}\"
#define BUILD_BLAS_VERSION \"${BLAS}\"
#define BUILD_TYPE \"${TYPE}\"
#define BUILD_SANITIZE \"${SANITIZE}\"
#define BUILD_GIT \"${GIT}\" /* empty outside a git checkout */
")
set(old "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
    file(WRITE ${OUTPUT} "${text}")
endif()
