// SPDX-License-Identifier: Apache-2.0
import fs from 'fs';
await 0;
[typeof fs, import.meta.url];
