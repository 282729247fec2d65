/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them: a fixed number of significant digits, decimal units, "-" for what is not known. */
#ifndef RIDGE_FORMAT_H
#define RIDGE_FORMAT_H

#include <stddef.h>

struct text {
    char s[96];
};

struct text text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `digits` significant digits without an exponent where one can do without; "-" for NaN and infinities. */
struct text format_digits(double value, int digits);

struct text format_time_ns(double ns);                 /* "12.34 us" */
struct text format_percent(double fraction);           /* 0.873 -> "87.3 %" */
struct text format_factor(double factor);              /* "1.84x" */
struct text format_si(double value, const char *unit); /* 4.54e12, "B/s" -> "4.54 TB/s" */

#endif
