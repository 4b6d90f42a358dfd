fn main() {
    let x: Option<i32> = None;
    println!("{}", x.unwrap());
}
