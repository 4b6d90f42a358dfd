fn main() {
    let v = vec![1, 2];
    let i = v.len() + 3;
    println!("{}", v[i]);
}
