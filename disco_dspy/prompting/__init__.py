"""What the roles' models read: the evidence block and the adapters that lay out a prompt."""
