"""The hash laboratory: which hash and which backend is fastest on this machine.  Takes no part in a scan."""
