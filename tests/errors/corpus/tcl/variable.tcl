puts $x
