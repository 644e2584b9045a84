//! Push platforms against real receivers from PyPI, which were written by others.

mod email;
mod signed_webhook;
