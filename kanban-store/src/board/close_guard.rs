//! Keeps connections to a board from checkpointing and unlinking its WAL when they close (law B3).
//!
//! SQLite offers this as a per-connection switch that Diesel does not reach, so the switch is
//! thrown in an automatic extension. Extensions of that kind run for every connection that the
//! process opens; ours does nothing unless the thread is inside [`opening`] at that moment.

#![expect(
    unsafe_code,
    reason = "the one place where SQLite is called directly: Diesel has no way to set this switch"
)]

use std::{cell::Cell, ffi::c_int, ptr, sync::OnceLock};

use libsqlite3_sys as ffi;

/// Runs `open`, which opens one connection, and says whether that connection leaves the WAL alone.
///
/// The answer is `false` also when `open` opened nothing.
pub(super) fn opening<T>(open: impl FnOnce() -> T) -> (T, bool) {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = *REGISTERED.get_or_init(register);
    let scope = Scope::enter();
    let opened = open();
    let guarded = registered && STATE.get() == State::Set;
    drop(scope);
    (opened, guarded)
}

/// What this thread is doing with regard to boards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing: connections are none of our business.
    Foreign,
    /// Opening a board; no connection has come by yet.
    Opening,
    /// The switch was thrown.
    Set,
    /// SQLite refused the switch.
    Refused,
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Foreign) };
}

/// Resets the state also when `open` panics.
struct Scope;

impl Scope {
    fn enter() -> Self {
        STATE.set(State::Opening);
        Self
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        STATE.set(State::Foreign);
    }
}

fn register() -> bool {
    // SAFETY: `keep_wal` has the signature that SQLite calls automatic extensions with, is a plain
    // function that lives as long as the process, and the call may be made from any thread.
    unsafe { ffi::sqlite3_auto_extension(Some(keep_wal)) == ffi::SQLITE_OK }
}

/// Called by SQLite on the opening thread for each new connection of the process.
unsafe extern "C" fn keep_wal(
    db: *mut ffi::sqlite3,
    _message: *mut *mut std::ffi::c_char,
    _api: *const ffi::sqlite3_api_routines,
) -> c_int {
    let ours = STATE.try_with(Cell::get).unwrap_or(State::Foreign) == State::Opening;
    if ours {
        let on: c_int = 1;
        // SAFETY: SQLite hands over a live connection that no other thread uses yet; this option
        // takes an int and a pointer to an int, which may be null.
        let answer = unsafe {
            ffi::sqlite3_db_config(
                db,
                ffi::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                on,
                ptr::null_mut::<c_int>(),
            )
        };
        let state = if answer == ffi::SQLITE_OK { State::Set } else { State::Refused };
        // A thread that is being torn down has no state left to note this in.
        let _ = STATE.try_with(|cell| cell.set(state));
    }
    // Anything else would make SQLite refuse the connection, also a foreign one.
    ffi::SQLITE_OK
}
