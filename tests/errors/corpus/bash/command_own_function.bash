greet_user() {
  echo hi
}
greet_usr
