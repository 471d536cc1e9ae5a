"""What the roles say to each other: relation inventories, structures, DSPy signatures.

The ground floor of the house: nothing here imports `disco_dspy` or `optimize`. Import the modules by name
(`signatures.tree`, `signatures.parser`, ...); the package itself stays light, so that reading a relation table
does not load DSPy.
"""

import os

# DSPy's price look-up fetches a table from the network on first use; the packaged copy is enough. Must be set
# before DSPy is imported, and leaves a user's own choice alone.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
