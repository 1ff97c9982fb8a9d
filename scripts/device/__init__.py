"""Examines the device path without a device: its machine code, and the resources of a card that it needs."""
