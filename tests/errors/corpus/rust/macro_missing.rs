fn main() {
    printn!("a");
}
