#include <string>

int main()
{
	return std::stoi("abc");
}
