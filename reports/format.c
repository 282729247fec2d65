/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct text text_of(const char *format, ...)
{
    struct text text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.s, sizeof text.s, format, args);
    va_end(args);
    return text;
}

struct text format_digits(double value, int digits)
{
    if (!isfinite(value))
        return text_of("-");
    double size = fabs(value);
    if (size == 0.0)
        return text_of("0");
    if (size < 1e-4 || size >= 1e9)
        return text_of("%.*g", digits, value);
    /* The exponent after rounding: 9.996 has four digits as 9.996 and three as 10.0. */
    double unit = pow(10.0, floor(log10(size)) - digits + 1);
    int decimals = digits - 1 - (int)floor(log10(round(size / unit) * unit) + 1e-9);
    return text_of("%.*f", decimals > 0 ? decimals : 0, value);
}

struct text format_time_ns(double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1.0, "ns"}};
    if (!isfinite(ns))
        return text_of("-");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (fabs(ns) >= units[i].ns || units[i].ns == 1.0)
            return text_of("%s %s", format_digits(ns / units[i].ns, 4).s, units[i].unit);
    return text_of("-");
}

struct text format_percent(double fraction)
{
    if (!isfinite(fraction))
        return text_of("-");
    double percent = 100.0 * fraction;
    if (fabs(percent) >= 1e4)
        return text_of("%.3g %%", percent);
    return text_of("%.*f %%", fabs(percent) < 0.995 ? 2 : 1, percent);
}

struct text format_factor(double factor)
{
    return isfinite(factor) ? text_of("%sx", format_digits(factor, 3).s) : text_of("-");
}

struct text format_si(double value, const char *unit)
{
    static const struct {
        double size;
        const char *prefix;
    } prefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1.0, ""}};
    if (!isfinite(value))
        return text_of("-");
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (fabs(value) >= prefixes[i].size)
            return text_of("%s %s%s", format_digits(value / prefixes[i].size, 3).s, prefixes[i].prefix, unit);
    return text_of("%s %s", format_digits(value, 3).s, unit);
}
