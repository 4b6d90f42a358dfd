class A:
    def f():
        return self.x

A.f()
