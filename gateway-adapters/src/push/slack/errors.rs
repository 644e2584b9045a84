//! The errors that Slack names, in answers of the Web API and of webhooks, and what each means.

use kanban_notify::verdict::Fault;

/// What is at fault by Slack's name for the error; `None` where it names nothing that lasts.
pub(super) fn fault_of(error: &str) -> Option<Fault> {
    let faults = [
        (CREDENTIAL, Fault::Credential),
        (TARGET, Fault::Target),
        (THREAD, Fault::Thread),
        (PAYLOAD, Fault::Payload),
    ];
    faults.into_iter().find(|(names, _)| names.contains(&error)).map(|(_, fault)| fault)
}

const CREDENTIAL: &[&str] = &[
    "access_denied",
    "account_inactive",
    "invalid_auth",
    "invalid_token",
    "missing_scope",
    "no_active_hooks",
    "no_service",
    "no_service_id",
    "no_team",
    "not_allowed_token_type",
    "not_authed",
    "team_access_not_granted",
    "team_disabled",
    "token_expired",
    "token_revoked",
    "two_factor_setup_required",
];

const TARGET: &[&str] = &[
    "action_prohibited",
    "cannot_dm_bot",
    "channel_is_archived",
    "channel_not_found",
    "ekm_access_denied",
    "is_archived",
    "messages_tab_disabled",
    "no_permission",
    "not_in_channel",
    "posting_to_general_channel_denied",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_only_channel",
    "user_not_found",
];

const THREAD: &[&str] = &[
    "cannot_reply_to_message",
    "invalid_thread_ts",
    "restricted_action_non_threadable_channel",
    "restricted_action_thread_locked",
    "thread_not_found",
];

const PAYLOAD: &[&str] = &[
    "invalid_arg_name",
    "invalid_arguments",
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_json",
    "invalid_payload",
    "metadata_too_large",
    "missing_text_or_fallback_or_attachments",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
    "too_many_attachments",
];

/// The workspace or the service has no room now.
pub(super) const LATER: &[&str] = &[
    "message_limit_exceeded",
    "org_login_required",
    "rate_limited",
    "ratelimited",
    "service_unavailable",
    "team_added_to_org",
];

/// Slack says itself that some of it may have been done.
pub(super) const DOUBTFUL: &[&str] = &["fatal_error", "internal_error"];
