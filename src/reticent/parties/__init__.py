"""The only room where owners talk: groups and ciphers, protocols, channels, transcripts.

From the bottom: `group` computes with points, `wire` is what a protocol sees of the others,
`comparison` and `intersection` are conversations over it.

Knows who the other owners are, what may be asked of them and how to refuse what they must not send.
Must not know what is released: no policy, no score, no table; a protocol is handed whole numbers
and ids, and hands back a name or an order. Nothing but this room imports the libraries it needs.
"""
