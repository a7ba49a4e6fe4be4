"""From text to word ids."""
