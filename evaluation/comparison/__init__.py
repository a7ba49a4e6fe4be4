"""What ``evaluate`` and ``compare`` do: several models scored alike, side by side."""
