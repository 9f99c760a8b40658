"""One space of parameters: names, values, conditions; joined, counted, drawn, walked."""
