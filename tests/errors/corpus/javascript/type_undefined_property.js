const user = {};
function city(u) {
  return u.address.city;
}
console.log(city(user));
