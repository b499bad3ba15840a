"""The ways in which two clouds can be related, one file each."""
