//! What the adapters promise, against a receiver that speaks the contract and a server that breaks it.

#[cfg(test)]
#[cfg(all(feature = "api_server", feature = "test-support"))]
mod api_server;
#[cfg(test)]
#[cfg(feature = "test-support")]
mod client;
#[cfg(test)]
#[cfg(feature = "console")]
mod console;
#[cfg(test)]
#[cfg(all(feature = "api_server", feature = "test-support"))]
mod faults;
#[cfg(test)]
#[cfg(all(feature = "api_server", feature = "test-support"))]
mod look;
#[cfg(test)]
#[cfg(feature = "test-support")]
mod proxy;
#[cfg(test)]
#[cfg(all(feature = "platforms", feature = "test-support"))]
mod push;
#[cfg(test)]
#[cfg(feature = "test-support")]
mod receiver;
#[cfg(test)]
#[cfg(feature = "test-support")]
mod support;
#[cfg(test)]
#[cfg(feature = "template")]
mod template;
