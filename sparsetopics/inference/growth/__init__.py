"""How a mixture grows from one component, on a kd-tree that is refined where it matters."""
