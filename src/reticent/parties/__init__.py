"""The only room where owners talk.

    group                                      points of a group in which logarithms are hard
    wire                                       what a protocol sees of the others
    comparison  intersection                   conversations over it, one file each
    identity                                   keys, certificates, whom to trust
    channel  tcp  connections                  frames from owner to owner, in memory or over TLS
    messages  links  exchange  session  state  numbered, acknowledged, resumed after a kill
    chained  transcript                        what was said, so that it can be proven afterwards
    delivered  auditing                        the proof: a transcript, replayed
    settings  rollcall  check                  an owner's own file, and who is there

Knows who the other owners are, what may be asked of them and how to refuse what they must not send.
Must not know what is released: no policy, no score, no table; a protocol is handed whole numbers
and ids, and hands back a name or an order. Nothing but this room imports the libraries it needs.
"""
