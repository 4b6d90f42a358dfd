// SPDX-License-Identifier: Apache-2.0
'use strict';
/* Watches over interrupts of a session: see session.js. */
const net = require('net');
const { Session } = require('inspector');
const { workerData: heard } = require('worker_threads');

const ALARM = 4;
const PATIENCE_MS = 100;
const STOPPED_MS = 1000; /* for the session to hear of it then */

/* Whatever runs ends at once, and no catch or finally of it runs. */
function stop() {
	const session = new Session();
	session.connectToMainThread();
	session.post('Runtime.terminateExecution');
	session.disconnect();
}

/* Read as a stream: a thread that waits inside of a read would keep node from leaving. */
new net.Socket({ fd: ALARM, readable: true, writable: false }).on('data', () => {
	Atomics.wait(heard, 0, 0, PATIENCE_MS);
	if (Atomics.load(heard, 0) === 0) {
		stop();
		Atomics.wait(heard, 0, 0, STOPPED_MS);
	}
	Atomics.store(heard, 0, 0);
});
