// SPDX-License-Identifier: Apache-2.0
const { sep } = require('path');
await 0;
sep;
