//! The driver against mocked ports.
