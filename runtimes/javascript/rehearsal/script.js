// SPDX-License-Identifier: Apache-2.0
const { length } = process.argv;
[{ length, text: 'rehearsed' }];
