cd /nowhere
