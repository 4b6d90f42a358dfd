#include <nowhere.h>

int main(void)
{
	return 0;
}
