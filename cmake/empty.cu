// SPDX-License-Identifier: Apache-2.0
// A library without kernels still needs one source.
