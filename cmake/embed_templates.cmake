# Writes OUTPUT, a C file with the texts of FOLDER that `dqs export` fills in: policy.c.in becomes export_policy_c.
#   cmake -DFOLDER=src/deploy/template -DOUTPUT=export_texts.c -P embed_templates.cmake
file(GLOB texts ${FOLDER}/*.in)
set(arrays "")
foreach(text ${texts})
    get_filename_component(name ${text} NAME)
    string(REGEX REPLACE "\\.in$" "" name "${name}")
    string(MAKE_C_IDENTIFIER "${name}" name)
    file(READ ${text} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "const char export_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"fill_in.h\"\n${arrays}")
