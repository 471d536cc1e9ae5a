"""What the roles say to each other: relation inventories, structures, DSPy signatures."""
