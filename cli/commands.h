/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `ridge`. Each parses its own arguments with argp (argv[0] is "ridge <command>"), prints results to
 * standard output, and returns a ridge_status with *err set when it is not RIDGE_OK; main prints the message. */
#ifndef RIDGE_COMMANDS_H
#define RIDGE_COMMANDS_H

#include "base/error.h"

int cmd_list(int argc, char **argv, struct ridge_error *err);
int cmd_doctor(int argc, char **argv, struct ridge_error *err);
int cmd_bench(int argc, char **argv, struct ridge_error *err);
int cmd_check(int argc, char **argv, struct ridge_error *err);
int cmd_trace(int argc, char **argv, struct ridge_error *err);
int cmd_tune(int argc, char **argv, struct ridge_error *err);
int cmd_profile(int argc, char **argv, struct ridge_error *err);
int cmd_ceilings(int argc, char **argv, struct ridge_error *err);
int cmd_emulation(int argc, char **argv, struct ridge_error *err);
int cmd_roofline(int argc, char **argv, struct ridge_error *err);
int cmd_report(int argc, char **argv, struct ridge_error *err);
int cmd_compare(int argc, char **argv, struct ridge_error *err);
int cmd_kv_cache(int argc, char **argv, struct ridge_error *err);

#endif
