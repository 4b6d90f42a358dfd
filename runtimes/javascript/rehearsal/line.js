// SPDX-License-Identifier: Apache-2.0
process.argv.length + 1
