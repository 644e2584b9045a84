//! Whole flows over the real gateway.
