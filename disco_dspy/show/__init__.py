"""Trees, graphs, blueprints and traces for people: rich renderables that degrade to plain text when piped."""
