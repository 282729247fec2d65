/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/printable.h"

#include <string.h>

/* Bytes of the control character that text begins with, or 0. */
static size_t control_bytes(const char *text)
{
    const unsigned char first = (unsigned char)text[0];
    if ((first && first < 0x20) || first == 0x7f)
        return 1;
    return first == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0 ? 2 : 0;
}

bool text_has_controls(const char *text)
{
    for (; *text; text++)
        if (control_bytes(text))
            return true;
    return false;
}

void text_make_printable(char *text)
{
    for (; *text; text++)
        memset(text, ' ', control_bytes(text));
}
