require 'nothing_here'
