local function f()
  error('too late')
end
f()
