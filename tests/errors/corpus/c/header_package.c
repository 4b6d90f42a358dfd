#include <SDL2/SDL.h>

int main(void)
{
	return 0;
}
