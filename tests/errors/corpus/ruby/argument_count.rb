def f(a)
end
f(1, 2)
