"""What can be known of the device path without a device: its machine code, and what that takes of a card."""
