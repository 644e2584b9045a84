//! The ledger on real files.

#[cfg(test)]
mod cursor;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod support;
#[cfg(test)]
mod wal;

#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod claims;
#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod domain;
#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod hostile;
#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod instances;
#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod parts;
#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod registrar;
#[cfg(feature = "notify-ports")]
#[cfg(test)]
mod waiting;
