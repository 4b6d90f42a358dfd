<?php
function f($n) {
  return 1 / $n;
}
f(0);
