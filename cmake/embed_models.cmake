# Writes OUTPUT, a C file with the text of every MJCF file of FOLDER: the program needs no data files.
#   cmake -DFOLDER=src/env/dmc/models -DOUTPUT=models.c -P embed_models.cmake
file(GLOB models ${FOLDER}/*.xml)
set(arrays "")
set(rows "")
foreach(model ${models})
    get_filename_component(name ${model} NAME_WE)
    file(READ ${model} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const char text_${name}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", text_${name}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"dmc.h\"\n${arrays}const struct dmc_model_text dmc_model_texts[] = {\n${rows}    {0}};\n")
