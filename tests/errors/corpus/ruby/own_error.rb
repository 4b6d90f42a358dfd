class Late < StandardError; end
raise Late, 'no'
