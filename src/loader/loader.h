/* SPDX-License-Identifier: Apache-2.0 */
/* The program that stands for the dynamic loader in a restricted cell, as bytes. */
#pragma once

#include <stddef.h>

/* Where it finds the real one. */
#define LOADER_PATH "/run/loader"

extern const unsigned char loader_image[];
extern const size_t loader_image_size;
