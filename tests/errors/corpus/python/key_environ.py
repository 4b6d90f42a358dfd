import os
print(os.environ['API_TOKEN'])
