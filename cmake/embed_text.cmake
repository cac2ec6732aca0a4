# Writes OUTPUT, a C file with the text of INPUT as `const char NAME[]`: the program needs no data files.
#   cmake -DINPUT=python/dqs/_gym_server.py -DNAME=gym_server_text -DOUTPUT=gym_server_text.c -P embed_text.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
