//! What the derives of projections say of their input.
