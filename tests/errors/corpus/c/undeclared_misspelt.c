#include <stdio.h>

int main(void)
{
	int counter = 1;
	printf("%d\n", countr);
	return 0;
}
