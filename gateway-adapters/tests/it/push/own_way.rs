//! Cases of the contract for platforms that are another kind of thing than the rest, and whose cases a module has.

/// Where `cargo xtask test` wants to be told.
const FOLDER: &str = "KANBAN_GATEWAY_CONTRACT";

/// Tells whose cases are in a module, for the table of a test run.
pub fn tell(module: &str, platform: &str) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        std::fs::write(std::path::Path::new(&folder).join(module), platform).unwrap();
    }
}

/// Cases of the contract that a platform has in a way of its own.
macro_rules! own_way {
    ($platform:expr, $($case:ident: $run:expr),+ $(,)?) => {
        mod contract_own_way {
            use super::*;

            $(
                #[tokio::test]
                async fn $case() {
                    crate::push::own_way::tell(module_path!(), $platform);
                    $run.await;
                }
            )+
        }
    };
}
pub(crate) use own_way;
