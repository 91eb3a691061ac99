//! What a derive writes, and what it says of input it cannot take.
