/* SPDX-License-Identifier: Apache-2.0 */
/* The least a program can do: what is timed around it is the cost of starting it. */
int main(void)
{
	return 0;
}
