A = 'x'.freeze
A << 'y'
