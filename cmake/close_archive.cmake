# Joins the objects of a static library into one and makes its hidden names local, so that a program that links it
# cannot collide with them. Where the tools are missing the archive stays as it is.
if(NOT LINKER OR NOT OBJCOPY)
    return()
endif()
set(joined ${ARCHIVE}.o)
execute_process(COMMAND ${LINKER} -r --whole-archive ${ARCHIVE} -o ${joined} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --localize-hidden ${joined} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${ARCHIVE})
execute_process(COMMAND ${AR} rcs ${ARCHIVE} ${joined} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${joined})
