// SPDX-License-Identifier: Apache-2.0
import path from 'path';
await 0;
[typeof path, import.meta.url];
