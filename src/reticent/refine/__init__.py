"""Engine 1: reveal a masked table step by step while every promise still holds.

This room works on integers. It knows neither files nor policies, and never checks its own result:
the verifier does.
"""
