//! Hermes beside us: where it lives, what its profiles offer, and which of its gateways are alive.
//!
//! Everything here only looks. Nothing of Hermes is locked, written or sent a signal (law O4).

mod dotenv;
mod files;
mod home;
mod live;
mod media;
mod proc;
mod profile;
mod push;
mod server;
mod snapshot;
mod variables;
mod world;

#[cfg(test)]
mod tests;

pub use home::{DEFAULT_PROFILE, HermesHome, ProfileHome, is_profile_name};
pub use live::{Generation, Live, Notifier};
pub use media::Media;
pub use proc::Proc;
pub use profile::{Gates, Profile, platform_names};
pub use server::{ApiServer, Server, default_model};
pub use snapshot::{Hermes, Ownership, Setup, platform_of};
pub use variables::board_variables;
pub use world::WorldWatch;
