print(np.zeros(3))
