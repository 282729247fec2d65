/* SPDX-License-Identifier: Apache-2.0 */
/* What was built; generated at every build. */
#ifndef RIDGE_VERSION_H
#define RIDGE_VERSION_H

#include <stdbool.h>

extern const char *const ridge_version;    /* "0.1.0" */
extern const char *const ridge_git_hash;   /* 40 hex digits, or "unknown" outside a checkout */
extern const bool ridge_git_dirty;         /* files of the build differed from the commit */
extern const char *const ridge_build_note; /* "" or what the build left out: "no CUDA toolkit: ..." */

/* xxh64 of the device code embedded for one source file ("kernels/..."), 16 hex digits;
 * "" for host variants and plugins. */
const char *ridge_cubin_hash(const char *file);

#endif
