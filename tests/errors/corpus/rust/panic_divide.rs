fn main() {
    let zero: i32 = "0".parse().unwrap();
    println!("{}", 1 / zero);
}
