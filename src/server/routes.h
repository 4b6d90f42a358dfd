/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers what. Each answers its request now or sees to it that it is answered later. */
#pragma once

#include "server/http.h"

/* run.c */
void route_execute(struct request *request);

/* about.c */
void route_languages(struct request *request);
void route_providers(struct request *request);
void route_health(struct request *request);
void route_metrics(struct request *request);
void route_openapi(struct request *request);
