/* text: see text.h. */
#include "text.h"

size_t text_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool too_long = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xED && s[1] >= 0xA0, beyond = s[0] == 0xF4 && s[1] >= 0x90;
    return too_long || surrogate || beyond ? 0 : n;
}

void text_clean(char *text, bool controls)
{
    while (*text) {
        size_t n = text_utf8_length(text);
        if (n == 0 || (controls && ((unsigned char)*text < ' ' || *text == 0x7f))) {
            *text = '?';
            n = 1;
        }
        text += n;
    }
}

void text_put_quoted(FILE *out, const char *text, size_t size)
{
    fputc('"', out);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            fputc('\\', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}
