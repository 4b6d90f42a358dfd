if (true) {
} elif (false) {
}
