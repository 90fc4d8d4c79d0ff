"""Is a profile worth telling? Measured on collections whose queries somebody has judged.

The room knows collections, simulated users and what a good order is; profiles, exposure and
ranking are those that people use. What it finds is about the collections: nobody's data are in it.
"""
