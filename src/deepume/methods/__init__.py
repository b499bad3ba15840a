"""The methods by name: closed forms, peers, networks, and the default one."""
