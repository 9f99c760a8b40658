"""Words behind `cutune`: how they are read, and the help that explains them."""
