/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell-worker: runs what its owner hands it, one job after the other. */
#include "worker/worker.h"

int main(void)
{
	return worker_serve();
}
