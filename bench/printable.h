/* SPDX-License-Identifier: Apache-2.0 */
/* Text from files of others, on its way to a terminal or into a table. */
#ifndef RIDGE_PRINTABLE_H
#define RIDGE_PRINTABLE_H

#include <stdbool.h>

/* Control characters: C0, DEL, and C1 as UTF-8 has it. Newlines and tabs are among them. */
bool text_has_controls(const char *text);

/* Each of their bytes becomes a space. */
void text_make_printable(char *text);

#endif
