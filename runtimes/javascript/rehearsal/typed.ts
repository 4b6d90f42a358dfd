// SPDX-License-Identifier: Apache-2.0
import path from 'path';
const sep: string = path.sep;
sep;
