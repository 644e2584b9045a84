//! Push platforms against programs from PyPI, which were written by others: real receivers, and the vendors' own
//! clients, which show that our stand-ins for the platforms answer as the platforms do.

mod discord;
mod email;
mod signed_webhook;
mod slack;
mod telegram;
