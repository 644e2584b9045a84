//! Temporary.
use super::*;
#[tokio::test(flavor = "multi_thread")]
async fn probe() {
    let Some((_stub, home)) = stage(|home| home.max_concurrent_runs(30)).await else { return };
    let with = std::env::var("WITH_OURS").is_ok();
    let mut ours = Ours::new(&home);
    if with { ours.start().await; }
    let gateway = home.gateway().start().await;
    gateway.dispatching().await;
    let board = home.board();
    let client = gateway.client();
    for round in 0..30 {
        let ask = |n| client.post_turn(&format!("r{round} {n}"), &format!("create task r{round} {n}"));
        let asking: Vec<_> = (0..20).map(|n| tokio::spawn(ask(n))).collect();
        for turn in asking { turn.await.expect("a turn").ok(); }
    }
    for _ in 0..4 {
        let rows = board.subscriptions(None).await;
        let un: Vec<_> = rows.iter().filter(|r| r["notifier_profile"] != "kanban-gateway.default").collect();
        println!("PROBE rows {} unstamped {un:?}", rows.len());
        if un.is_empty() { break; }
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let tasks = board.list().await.len();
    let rows = board.subscriptions(None).await.len();
    println!("PROBE tasks {tasks} rows {rows}");
    for line in gateway.log().lines().filter(|l| l.contains("torn") || l.contains("ERROR") || l.contains("subscri")) { println!("LOG {line}"); }
    for entry in std::fs::read_dir(home.path().join("logs")).unwrap() { let p = entry.unwrap().path(); let t = std::fs::read_to_string(&p).unwrap_or_default(); for l in t.lines().filter(|l| l.contains("torn") || l.contains("ERROR")) { println!("{} {l}", p.display()); } }
}
