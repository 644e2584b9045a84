//! Has the crate rebuilt when a migration changes: they are embedded, and Cargo does not see that.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
