fn main() {
    println!("{}", total);
}
