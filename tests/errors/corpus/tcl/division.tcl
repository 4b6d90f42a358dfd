proc f {x} {
  return [expr {$x / 0}]
}
puts [f 3]
