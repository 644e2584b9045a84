//! The bounds of a template: what it sees, what it costs, and how deep it goes.

use std::thread;

use minijinja::{
    Environment, Error, ErrorKind, Template, UndefinedBehavior,
    machinery::{Instruction, get_compiled_template},
    syntax::SyntaxConfig,
};

use super::quoted;

/// What one message may cost: about so many steps, or so many times 64 bytes.
const FUEL: u64 = 10_000;
/// How many calls of macros may stand in each other.
const CALLS: usize = 50;
/// The stack for reading a template, which recurses with each sign of the longest one.
const STACK: usize = 64 << 20;

/// Values that hold values cost and nest far more than the steps that make them: a list of a list twice, of that
/// twice, and so on. Nothing that makes them is there.
const FILTERS: [&str; 8] =
    ["batch", "chain", "dictsort", "groupby", "items", "map", "slice", "zip"];
const FUNCTIONS: [&str; 3] = ["debug", "dict", "namespace"];

/// Without a loader, and with what the features of the crate leave out: no template names another one.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(CALLS);
    environment.set_formatter(quoted::mark);
    FILTERS.iter().for_each(|name| environment.remove_filter(name));
    FUNCTIONS.iter().for_each(|name| environment.remove_global(name));
    // A line that holds nothing but a block is no line of the message.
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    environment
}

/// The line of the first list or map that a template makes of anything but constants.
pub(super) fn list(template: &Template<'_, '_>) -> Option<usize> {
    let instructions = &get_compiled_template(template).instructions;
    let numbered = (0..).map_while(|at| Some((at, instructions.get(at)?)));
    let is_made = |instruction: &Instruction<'_>| {
        matches!(
            instruction,
            Instruction::BuildList(_) | Instruction::BuildMap(_) | Instruction::BuildTuple(_)
        )
    };
    let mut made = numbered.filter(|(_, instruction)| is_made(instruction));
    made.next().map(|(at, _)| instructions.get_line(at).unwrap_or(1))
}

/// Does what recurses with a template's length, on a stack with room for the longest.
pub(super) fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        let working = builder.spawn_scoped(scope, work).map_err(|_| failed())?;
        working.join().map_err(|_| failed())
    })
}

/// The engine gave up in a way that it has no word for.
pub(super) fn failed() -> Error {
    Error::new(ErrorKind::InvalidOperation, "the template engine failed")
}
