//! Cases of the contract for platforms that are another kind of thing than the rest.

/// Cases of the contract that a platform has in a way of its own.
macro_rules! own_way {
    ($($case:ident: $run:expr),+ $(,)?) => {
        mod contract_own_way {
            use super::*;

            $(
                #[tokio::test]
                async fn $case() {
                    $run.await;
                }
            )+
        }
    };
}
pub(crate) use own_way;
