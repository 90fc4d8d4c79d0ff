"""Pages that a command serves to its own user: a server on this machine, and what guards it.

    asking    a request, read within bounds of size and time
    gate      who may ask: which host, which site, whose cookie or token
    server    sockets, threads, TLS, and what goes back

Knows nothing of what is served: an app hands over pages, what changes them, and files. Nothing that
a person types or owns may stand in an address or in a log, so queries and values come by POST, and
logs name a path that the app has, and no other.
"""
