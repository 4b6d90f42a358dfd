import subprocess
subprocess.run(['no-such-tool-x', '-v'])
