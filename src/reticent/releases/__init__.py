"""What all kinds of release share: the registry, policy files, places, folders, the one way out.

Knows no system: whatever differs from kind to kind is handed over by the kind's own flow.
"""
