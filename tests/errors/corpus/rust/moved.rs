fn main() {
    let a = String::from("x");
    let b = a;
    println!("{} {}", a, b);
}
