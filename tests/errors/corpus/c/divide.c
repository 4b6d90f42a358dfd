int main(void)
{
	volatile int zero = 0;
	return 10 / zero;
}
