//! The whole job in a few seconds: a board, a receiver, wakes, a kill in the middle, nothing lost.
//!
//! Nothing is played: the gateway is the real program in a process of its own, the wakes are real HTTP,
//! the kill is a real SIGKILL.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use kanban_store::write;
use secrecy::SecretString;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::{Instant, timeout_at},
};

use super::{
    Context, boards,
    listen::{Heard, Listen, Listening},
    subs::{self, Target},
    tasks::{self, Wish},
};
use crate::{
    config::{self, Env},
    shutdown::Signals,
};

/// How long any step may take before the demo gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Opens the receiver of this demo only.
const KEY: &str = "demo-key-for-this-run-only";

/// Runs the demo; `say` shows each line as it happens.
///
/// # Errors
///
/// When a step does not come about, something was lost or doubled, or a signal ends it: then it says what.
pub async fn demo(program: &Path, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let folder = tempfile::Builder::new()
        .prefix("kanban-gateway-demo-")
        .tempdir()
        .context("no temporary folder can be made")?;
    let listening = Listen {
        addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        key: SecretString::from(KEY),
        script: None,
        delay: Duration::ZERO,
        drop: false,
    };
    let listening = listening.start().await.context("the receiver cannot listen")?;
    let file = write_config(folder.path(), &listening.url())?;
    let env: Env = [("HOME", folder.path())].into_iter().collect();
    let ctx = Context { config: config::load(Some(&file), &env)?.config, env };
    let woken = BTreeMap::new();
    let mut demo = Demo { ctx, program, file, listening, say, gateway: None, woken, pings: 0 };
    let played = tokio::select! {
        played = demo.play() => played,
        signal = signals.next() => Err(anyhow!("ended by {signal}; what it made is removed")),
    };
    // Whatever happened, nobody writes into the folder any more when it is removed.
    let killed = demo.kill().await;
    drop(demo);
    folder.close().context("the temporary folder cannot be removed")?;
    played.and(killed)
}

struct Demo<'a> {
    ctx: Context,
    program: &'a Path,
    file: PathBuf,
    listening: Listening,
    say: &'a mut dyn FnMut(&str),
    gateway: Option<Process>,
    /// How often each (session, task) was woken.
    woken: BTreeMap<(String, String), usize>,
    pings: usize,
}

impl Demo<'_> {
    async fn play(&mut self) -> anyhow::Result<()> {
        let url = self.listening.url();
        self.say(&format!("A receiver that stands in for a Hermes API server listens on {url}."));
        let board = boards::create(&self.ctx, "demo", Some("Demo"))?;
        self.say(&format!("A new board: {board}"));

        let first = self.task("Build the weekly report")?;
        self.subscribe(&first, "api_server", "session-alice")?;
        self.subscribe(&first, "api_server", "session-bob")?;
        self.subscribe(&first, "console", "ops-room")?;
        self.start()?;
        self.say("The gateway runs in a process of its own.");
        self.complete(&first, "Report built: 14 pages, done once.")?;
        self.hear(2, 1).await?;
        self.settled().await?;

        self.say("");
        let second = self.task("Publish the weekly report")?;
        self.subscribe(&second, "api_server", "session-alice")?;
        self.listening.receiver().hold();
        self.complete(&second, "Published.")?;
        self.hear(1, 0).await?;
        self.kill().await?;
        self.say("  The gateway was killed (SIGKILL) while that wake was under way: it never saw the answer.");
        self.listening.receiver().release_all();
        self.start()?;
        self.say(
            "  It runs again. It looks into the session for its wake before it sends anything …",
        );
        self.settled().await?;
        self.kill().await?;
        self.drain_wakes();
        self.verdict(&first, &second)
    }

    fn verdict(&mut self, first: &str, second: &str) -> anyhow::Result<()> {
        let expected =
            [("session-alice", first), ("session-bob", first), ("session-alice", second)];
        for (session, task) in expected {
            let key = (session.to_owned(), task.to_owned());
            match self.woken.get(&key).copied().unwrap_or(0) {
                1 => {}
                0 => bail!("{session} was never woken for {task}"),
                times => bail!("{session} was woken {times} times for {task}"),
            }
        }
        if self.pings != 1 {
            bail!("the console chat got {} messages instead of 1", self.pings);
        }
        let open =
            subs::list(&self.ctx, Some("demo"))?.subs.iter().map(|sub| sub.open).sum::<i64>();
        if open != 0 {
            bail!("{open} deliveries are still open");
        }
        self.say("  … and found it answered.");
        self.say("");
        self.say(
            "3 wakes and 1 message for 4 needs, across a crash: nothing lost, nothing doubled.",
        );
        self.say("");
        self.say("On your own boards, beside a Hermes that stays as it is:");
        self.say("  kanban-gateway status     what would be served, and who else is at work");
        self.say(
            "  kanban-gateway run        deliver from now on (HERMES_HOME or ~/.hermes is found)",
        );
        self.say(
            "Without Hermes: `kanban-gateway config init`, then name an [[api_server]] there.",
        );
        Ok(())
    }

    fn say(&mut self, line: &str) {
        (self.say)(line);
    }

    fn task(&mut self, title: &str) -> anyhow::Result<String> {
        let mut wish = Wish::default();
        wish.new.title = title.to_owned();
        wish.new.assignee = Some("writer".to_owned());
        let task = tasks::create(&self.ctx, Some("demo"), wish)?.task;
        self.say(&format!("Task {task}: {title}"));
        Ok(task)
    }

    fn subscribe(&mut self, task: &str, platform: &str, chat: &str) -> anyhow::Result<()> {
        let target = Target {
            task: task.to_owned(),
            platform: platform.to_owned(),
            chat: chat.to_owned(),
            thread: None,
        };
        subs::add(&self.ctx, Some("demo"), &target)?;
        self.say(&format!("  {platform} {chat} subscribes to it."));
        Ok(())
    }

    fn complete(&mut self, task: &str, summary: &str) -> anyhow::Result<()> {
        let (_, mut board) = self.ctx.board(Some("demo"))?;
        let completion = write::Completion { result: None, summary: Some(summary.to_owned()) };
        write::complete(&mut board, task, &completion, super::unix_now())?;
        self.say(&format!("{task} is completed: \"{summary}\""));
        Ok(())
    }

    fn start(&mut self) -> anyhow::Result<()> {
        let mut child = Command::new(self.program)
            .arg("run")
            .arg("--config")
            .arg(&self.file)
            .env_clear()
            .env("HOME", self.file.parent().unwrap_or(Path::new("/")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.program.display()))?;
        let stdout = child.stdout.take().context("the gateway has no output")?;
        self.gateway = Some(Process { child, lines: BufReader::new(stdout).lines() });
        Ok(())
    }

    /// SIGKILL; the process is gone when this returns.
    async fn kill(&mut self) -> anyhow::Result<()> {
        match self.gateway.take() {
            Some(mut gateway) => gateway.child.kill().await.context("the gateway cannot be killed"),
            None => Ok(()),
        }
    }

    /// Waits for so many wakes and console messages, and shows each.
    async fn hear(&mut self, wakes: usize, pings: usize) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        let (mut wakes, mut pings) = (wakes, pings);
        while wakes > 0 || pings > 0 {
            let Self { listening, gateway, .. } = self;
            let gateway = gateway.as_mut().context("the gateway does not run")?;
            let news = async {
                tokio::select! {
                    heard = listening.next() => Ok(News::Heard(heard)),
                    line = gateway.lines.next_line() => line.map(News::Line),
                }
            };
            let news = timeout_at(until, news).await.context("nothing more arrived in time")??;
            match news {
                News::Heard(Some(heard)) => wakes = wakes.saturating_sub(self.heard(heard)),
                News::Heard(None) => bail!("the receiver has ended"),
                News::Line(Some(line)) => {
                    self.pings += 1;
                    pings = pings.saturating_sub(1);
                    self.say(&format!("  message -> {line}"));
                }
                News::Line(None) => bail!("the gateway has ended"),
            }
        }
        Ok(())
    }

    /// Counts and shows one wake; 0 for anything else.
    fn heard(&mut self, heard: Heard) -> usize {
        let Heard::Wake { session, text, .. } = heard else { return 0 };
        let task = text.split_whitespace().find(|word| word.starts_with("t_")).unwrap_or_default();
        *self.woken.entry((session.clone(), task.to_owned())).or_default() += 1;
        let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        self.say(&format!("  wake -> {session}: {}", first.join("\n                          ")));
        1
    }

    /// Takes in what arrived while nobody waited for it.
    fn drain_wakes(&mut self) {
        while let Some(Some(heard)) = futures_util::FutureExt::now_or_never(self.listening.next()) {
            self.heard(heard);
        }
    }

    /// Waits until the ledger has an outcome for everything.
    async fn settled(&self) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let subs = subs::list(&self.ctx, Some("demo"))?.subs;
            let newest = {
                let (_, mut board) = self.ctx.board(Some("demo"))?;
                board.sequence()?
            };
            let behind = subs.iter().any(|sub| sub.open > 0 || sub.id.is_none());
            if !behind && subs.iter().any(|sub| sub.cursor == newest) {
                return Ok(());
            }
            if Instant::now() > until {
                bail!("deliveries did not settle in time");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

enum News {
    Heard(Option<Heard>),
    Line(Option<String>),
}

/// The gateway's process; it ends with this value.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

fn write_config(folder: &Path, url: &str) -> anyhow::Result<PathBuf> {
    let hermes = folder.join("hermes");
    std::fs::create_dir_all(&hermes)?;
    let key = folder.join("key");
    std::fs::write(&key, KEY)?;
    let mut table = toml::Table::new();
    let text = |path: &Path| toml::Value::String(path.to_string_lossy().into_owned());
    table.insert("hermes_home".into(), text(&hermes));
    table.insert("ledger".into(), text(&folder.join("state").join("ledger.db")));
    let mut wake = toml::Table::new();
    // The demo's turns take no time: an outcome need not rest for long before it is looked for.
    wake.insert("settle".into(), toml::Value::String("500ms".into()));
    table.insert("wake".into(), toml::Value::Table(wake));
    let mut server = toml::Table::new();
    server.insert("profile".into(), toml::Value::String("default".into()));
    server.insert("url".into(), toml::Value::String(url.to_owned()));
    server.insert("key_file".into(), text(&key));
    let servers = toml::Value::Array(vec![toml::Value::Table(server)]);
    table.insert("api_server".into(), servers);
    let file = folder.join("config.toml");
    std::fs::write(&file, table.to_string())?;
    Ok(file)
}
