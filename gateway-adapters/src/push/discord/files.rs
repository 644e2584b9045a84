//! Files for Discord: up to ten beside each other in one message, by a bot and by a webhook.

use ::http::{Request, Uri};
use kanban_notify::artifacts::Takes;
use serde_json::{Value, json};

use super::agent;
use crate::{
    files::{OpenFile, stream::FileBody},
    push::{attach::Groups, multipart::Form},
};

/// The most bytes of a file where nobody pays for more.
const FILE: u64 = 10 << 20;
/// Of 25 MiB for a request, with room for all that is around.
const REQUEST: u64 = 24 << 20;

/// What a message takes.
pub(super) const TAKES: Takes = Takes::files(FILE);

/// All stand together.
pub(super) const GROUPS: Groups = Groups { files: 10, bytes: REQUEST, together: |_| true };

/// A message with files.
pub(super) fn post(uri: Uri, mut body: Value, files: Vec<OpenFile>) -> Request<FileBody> {
    let named = |(number, file): (usize, &OpenFile)| json!({"id": number, "filename": file.name});
    let attachments = Value::from_iter(files.iter().enumerate().map(named));
    if let Some(fields) = body.as_object_mut() {
        fields.insert("attachments".to_owned(), attachments);
    }
    let mut form = Form::default().json("payload_json", &body);
    for (number, file) in files.into_iter().enumerate() {
        form = form.file(&format!("files[{number}]"), file);
    }
    agent(form.post(uri))
}
