/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_FOLDER_H
#define RIDGE_FOLDER_H

/* Makes a folder and those above it where they are missing; 0, or -1 with errno of the first that could not be made. */
int folder_make(const char *path);

#endif
