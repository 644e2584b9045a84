//! What can go wrong in the store, by operation.

use std::path::PathBuf;

/// An error of the store; the cause is in `source`, not in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No file at the path of a board.
    #[error("there is no board at {}", path.display())]
    BoardMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The path leads to another file than the one that was opened, or the file was cut.
    #[error("the board {} was replaced by another file, cut, or parted from its log", path.display())]
    FileReplaced {
        /// The path.
        path: PathBuf,
    },
    /// A file without a single byte, or a database without tables: somebody may be about to fill it.
    #[error("the board {} is empty: no table in it yet", path.display())]
    BoardEmpty {
        /// The file.
        path: PathBuf,
    },
    /// The file is no SQLite database, or a damaged one.
    #[error(
        "{} is not a readable SQLite database; put a good copy in its place: a running gateway goes on",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        #[source]
        source: diesel::result::Error,
    },
    /// A database that is not of the board's shape (law B2).
    #[error("{} is not a kanban board: {flaw}", path.display())]
    LookAlike {
        /// The file.
        path: PathBuf,
        /// What is missing, by table and column.
        flaw: String,
    },
    /// A board that can be read and served, but not written as Hermes writes tasks (law B2).
    #[error(
        "tasks and subscriptions of {} cannot be written: {flaw}; Hermes adds what is missing when it opens its board",
        path.display()
    )]
    BoardUnfinished {
        /// The file.
        path: PathBuf,
        /// What is missing, by table and column.
        flaw: String,
    },
    /// A connection could not be opened.
    #[error("cannot open the board {}", path.display())]
    OpenBoard {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        #[source]
        source: diesel::ConnectionError,
    },
    /// SQLite did not accept the switch that keeps us from removing the WAL on close (law B3).
    #[error("cannot open the board {} without becoming its last closer", path.display())]
    GuardBoard {
        /// The file.
        path: PathBuf,
    },
    /// The first statements on a new connection failed.
    #[error("cannot prepare a connection to the board {}", path.display())]
    PrepareBoard {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: diesel::result::Error,
    },
    /// A read of a board failed.
    #[error("cannot read the board")]
    ReadBoard {
        /// The cause.
        #[source]
        source: diesel::result::Error,
    },
    /// A change of a board failed and was rolled back as a whole.
    #[error("cannot change the board")]
    ChangeBoard {
        /// The cause.
        #[source]
        source: diesel::result::Error,
    },
    /// Others kept the write lock for longer than we wait.
    #[error("the board is busy: its write lock was not free within {} ms; try again", waited.as_millis())]
    BoardBusy {
        /// How long we waited.
        waited: std::time::Duration,
    },
    /// The board, its folder or its file system does not let us write.
    #[error("the board {} is read-only here: let this user write the file and its folder", path.display())]
    BoardReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A checkpoint failed.
    #[error("cannot checkpoint the board")]
    CheckpointBoard {
        /// The cause.
        #[source]
        source: diesel::result::Error,
    },
    /// A file or folder beside the boards could not be read.
    #[error("cannot read {}", path.display())]
    ReadFile {
        /// Which one.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// What lies beside the boards could not be changed.
    #[error("cannot change {}", path.display())]
    ArrangeBoards {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Nothing says where Hermes' files are.
    #[error("no Hermes home: neither HERMES_HOME nor HOME is set")]
    NoHome,
    /// No board has this name.
    #[error("there is no board called `{slug}`")]
    UnknownBoard {
        /// The name.
        slug: String,
    },
    /// A new board was asked for where something is already.
    #[error("there is something at {} already", path.display())]
    BoardExists {
        /// The path.
        path: PathBuf,
    },
    /// A new board, or a file that goes with it, could not be made.
    #[error("cannot create the board {}", path.display())]
    CreateBoard {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A task needs a title with something in it.
    #[error("a task needs a title")]
    EmptyTitle,
    /// No task has this id.
    #[error("there is no task {task} on this board")]
    UnknownTask {
        /// The id.
        task: String,
    },
    /// A task is in no state for what was asked.
    #[error("cannot {operation} task {task}: it is {status}; it has to be {}", from.join(" or "))]
    WrongStatus {
        /// What was asked.
        operation: &'static str,
        /// The task's id.
        task: String,
        /// Its status.
        status: String,
        /// The states that it may be in.
        from: &'static [&'static str],
    },
    /// A task waits for others.
    #[error("task {task} waits for {}: finish or archive them, or unlink them", parents.join(", "))]
    ParentsOpen {
        /// The task's id.
        task: String,
        /// What it waits for.
        parents: Vec<String>,
    },
    /// Tasks that a new one is to wait for are not there.
    #[error("there are no tasks {} on this board to wait for", tasks.join(", "))]
    UnknownParents {
        /// The ids.
        tasks: Vec<String>,
    },
    /// Somebody works on the task.
    #[error("{holder} works on task {task}: wait for it, or end that attempt first")]
    Claimed {
        /// The task's id.
        task: String,
        /// The lock of who works on it.
        holder: String,
    },
    /// The claim is somebody else's by now, or nobody's.
    #[error("{lock} has no claim on task {task} any more: stop working on it")]
    ClaimLost {
        /// The task's id.
        task: String,
        /// The lock that was given.
        lock: String,
    },
    /// An attempt is not the one that goes on.
    #[error("attempt {run} at task {task} is over: stop working on it")]
    RunOver {
        /// The task's id.
        task: String,
        /// The attempt's id.
        run: i64,
    },
    /// A link would make tasks wait for themselves.
    #[error("task {child} cannot wait for {parent}, which waits for it already")]
    Cycle {
        /// Which was to be waited for.
        parent: String,
        /// Which was to wait.
        child: String,
    },
    /// Two tasks are not linked.
    #[error("task {child} does not wait for {parent}: there is no link to remove")]
    NotLinked {
        /// Which is waited for.
        parent: String,
        /// Which waits.
        child: String,
    },
    /// A text that must say something is blank.
    #[error("{what} is blank: give one with something in it")]
    Blank {
        /// Which text.
        what: &'static str,
    },
    /// A value that has no meaning on a board.
    #[error("`{value}` is no {what}: {advice}")]
    BadValue {
        /// What it was to be.
        what: &'static str,
        /// The value.
        value: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// A worker said it made tasks that are not there, or are somebody else's.
    #[error("task {task} is not completed: {} are not tasks that it made; name only those", cards.join(", "))]
    PhantomCards {
        /// The task's id.
        task: String,
        /// The ids that were named.
        cards: Vec<String>,
    },
    /// A file would be lost with the folder that it is in.
    #[error(
        "{artifact} lies in the scratch folder of task {task}: move it out, that one is temporary"
    )]
    ScratchArtifact {
        /// The task's id.
        task: String,
        /// The file.
        artifact: String,
    },
    /// The Hermes that uses this board cannot do that.
    #[error("this board has no {what}: they come with Hermes {since}, when it opens the board")]
    BoardTooOld {
        /// What is missing.
        what: &'static str,
        /// The first release that has it.
        since: &'static str,
    },
    /// A task that was not handed over for review cannot be handed back.
    #[error("task {task} cannot be handed back: {reason}")]
    NoReview {
        /// The task's id.
        task: String,
        /// What is missing.
        reason: &'static str,
    },
    /// A board's name breaks the rules for slugs.
    #[error(
        "`{slug}` is no board name: lower-case letters, digits, `-` and `_`, at most 64, not starting with `-` or `_`"
    )]
    BadSlug {
        /// What was given.
        slug: String,
    },
    /// The ledger, or a file beside it, could not be read or written.
    #[error("{operation} {} failed; {}", path.display(), crate::failure::ELSEWHERE)]
    LedgerFile {
        /// What was tried.
        operation: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The ledger is something that must be left alone.
    #[error("{} cannot be used for the ledger: {reason}", path.display())]
    LedgerRefused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The ledger is no database, or a damaged one.
    #[error(
        "the ledger {} is damaged; move it and the files beside it away and start anew: {}",
        path.display(), crate::failure::ANEW
    )]
    LedgerDamaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<Self>,
    },
    /// The ledger was taken away from under us: what is written now is lost with this process.
    #[error(
        "the ledger {} was removed, moved or replaced while it was in use: nothing is sent any more; start \
         again, with the file in its place if it is still there; without it {}",
        path.display(), crate::failure::ANEW
    )]
    LedgerGone {
        /// Where it was.
        path: PathBuf,
    },
    /// The ledger does not let us write.
    #[error(
        "the ledger {} cannot be written; make the file and its folder writable for this user",
        path.display()
    )]
    LedgerReadOnly {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<Self>,
    },
    /// There is no room for the ledger.
    #[error(
        "there is no room on the disk of the ledger {}; make some: until then nothing new is sent, and \
         nothing is lost",
        path.display()
    )]
    LedgerFull {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<Self>,
    },
    /// No connection to the ledger.
    #[error("cannot open the ledger {}; {}", path.display(), crate::failure::ELSEWHERE)]
    LedgerConnect {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: diesel::ConnectionError,
    },
    /// A migration of the ledger failed.
    #[error("{operation} the ledger failed")]
    LedgerMigrate {
        /// What was tried.
        operation: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A statement or transaction of the ledger failed.
    #[error("{operation} in the ledger failed")]
    Ledger {
        /// What was tried.
        operation: &'static str,
        /// The cause.
        #[source]
        source: diesel::result::Error,
    },
    /// The ledger holds, or was given, a value that this version cannot read.
    #[error("the ledger holds an unreadable {what}: `{value}`")]
    LedgerValue {
        /// Which kind of value.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// What was decided from a file that another one has replaced meanwhile (law B6).
    #[error("board {board} is not at incarnation {incarnation} any more")]
    BoardReplaced {
        /// The board's id.
        board: i64,
        /// The incarnation that is over.
        incarnation: i64,
    },
}
