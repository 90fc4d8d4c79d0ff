"""What all tests share."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine is no fault
settings.load_profile("patient")
