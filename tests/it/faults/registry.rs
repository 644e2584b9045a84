//! The fault tests outside of the table: what each injects, and what must come of it.

/// A file, and its tests in the table of faults.
pub struct Known {
    /// Below the workspace's root.
    pub file: &'static str,
    /// What is cited by tests whose names cite nothing.
    pub cites: &'static str,
    pub entries: &'static [Entry],
}

/// The test (with `/` and one of its values, where it tries several), what is injected, the verdict or
/// `-`, and the outcome.
pub type Entry = (&'static str, &'static str, &'static str, &'static str);

/// Every test of these files is here.
#[rustfmt::skip]
pub const KNOWN: [Known; 13] = [
    Known { file: "gateway-bin/tests/process/crashes.rs", cites: "D1, D6, W6", entries: &[
        ("fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing/Look", "kill -9 while a session is looked at", "-", "each told in exactly one answered turn"),
        ("fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing/Turn", "kill -9 while the turn runs", "unknown", "found answered after the restart, not sent again"),
        ("fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing/Answer", "kill -9 just after the answer", "unknown", "found answered after the restart, not sent again"),
        ("fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing/Outcome", "kill -9 before the outcome is written", "unknown", "found answered after the restart, not sent again"),
        ("fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing/Cursor", "kill -9 before the cursor is raised", "delivered", "the next process raises it, nothing is sent"),
        ("fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing/Any", "kill -9 at a random moment", "-", "each told in exactly one answered turn"),
    ]},
    Known { file: "gateway-bin/tests/process/hostile.rs", cites: "", entries: &[
        ("w9_nothing_that_a_board_holds_reaches_a_terminal_or_passes_for_us", "escape sequences, marks of our own, line breaks and a megabyte in every text of a board", "-", "told as data; every output of every command is tame"),
        ("report_111_a_text_that_was_cut_is_a_warning_with_sizes_and_without_the_text", "a summary of 5 000 characters", "-", "one warning with the event and the sizes"),
    ]},
    Known { file: "gateway-bin/tests/process/memory.rs", cites: "", entries: &[
        ("b2_a_board_of_any_size_is_served_in_little_memory", "200 000 events of one task, a payload of 100 MB, many of 100 KB", "-", "all told, in less than 96 MiB"),
    ]},
    Known { file: "kanban-notify/tests/it/engine/boards.rs", cites: "", entries: &[
        ("o2_a_new_row_whose_plan_failed_is_shown_again", "the ledger refuses the plan with a new row", "-", "read again from before the row"),
        ("o3_what_a_vanished_row_is_owed_survives_a_failed_plan", "a row vanishes and the plan fails", "-", "planned from the copy the next time"),
        ("o2_a_stamp_that_could_not_be_made_is_made_later", "the board refuses the stamp", "-", "stamped later"),
        ("o2_a_confirmed_stamp_whose_plan_failed_is_confirmed_later", "the ledger refuses to note a stamp", "-", "noted later"),
        ("b6_a_pass_over_the_old_file_is_void_for_the_new_one", "the board is replaced while it is read", "-", "the old pass counts for nothing"),
        ("b6_what_became_of_a_plan_is_asked_for_when_the_board_was_opened_anew", "the board is opened anew under a plan", "-", "the ledger is asked"),
        ("w8_a_leg_whose_end_was_not_recorded_is_not_forgotten", "the ledger refuses to note an end", "-", "noted later, not sent"),
        ("o1_what_a_hermes_that_was_started_serves_is_watched_and_not_sent", "a Hermes is started beside open deliveries", "-", "not sent while it serves, ours when it is gone"),
        ("d8_a_clock_that_is_set_back_does_not_stop_the_work", "the clock is set back a month", "-", "work goes on"),
        ("w5_a_clock_that_is_set_back_silences_no_session", "the clock is set back a day after a wake", "-", "the session is woken as usual"),
        ("d8_a_rest_in_the_ledger_of_a_clock_that_was_ahead_is_lifted", "the clock is set back a day while a server is down", "unreachable", "tried after its rest"),
        ("f4_a_clock_behind_the_newest_claim_is_not_believed", "the clock is behind our own last delivery", "-", "waits for --accept"),
        ("b2_an_event_with_a_wrong_time_spoils_itself_only", "an event in milliseconds, or of tomorrow", "-", "told as new, and reported"),
        ("s2_every_open_row_is_watched_in_its_turn", "more open rows than one pass watches", "-", "all watched within a few sweeps"),
        ("s3_rows_to_which_nothing_happens_go_once_a_look_for_them_comes", "rows of tasks that ended a month ago", "-", "ours without anything open go"),
        ("s3_a_row_goes_in_the_transaction_that_raises_its_cursor_for_the_last_time", "the board refuses the last write", "-", "raise and deletion go together, later"),
    ]},
    Known { file: "kanban-notify/tests/it/engine/channels.rs", cites: "", entries: &[
        ("d8_one_look_at_a_time_tries_a_server_that_is_down_and_people_are_told_once", "a server is down for ten hours", "unreachable", "fewer than 20 tries in ten minutes, than 100 in all, one word about it"),
        ("d8_a_server_that_was_started_is_tried_at_once", "a server that was down is started", "unreachable", "tried at once"),
        ("d8_a_start_tries_at_once_what_was_down_before_and_a_refused_key_is_probed_first", "a start while the ledger says that a channel rests", "unreachable", "tried at once; a refused key is probed first"),
        ("d8_a_send_that_found_nobody_rests_the_channel_and_not_the_leg", "a wake finds nobody", "unreachable", "the channel rests, no failure is counted"),
        ("f4_what_could_not_be_looked_at_for_three_days_is_parked", "a server is down for three days", "unreachable", "a dead letter with its reason"),
    ]},
    Known { file: "kanban-notify/tests/it/engine/delivery.rs", cites: "", entries: &[
        ("d7_a_message_that_is_split_after_an_unknown_outcome_says_that_it_may_be_a_repeat", "cut, then 413 for the same bytes", "payload", "split and marked as possible repeats"),
        ("d11_a_leg_that_is_given_up_after_an_unknown_outcome_keeps_that_in_mind", "cut, then refused for three days", "unknown", "a dead letter that knows it may have arrived"),
        ("w3_a_claim_under_an_old_name_holds_the_session_and_lets_it_go", "a dead instance's claim under a session's old name", "unknown", "nothing overtakes it"),
        ("w3_another_name_is_another_session_until_it_is_learnt", "a session has another name that nobody knows yet", "-", "not held up"),
    ]},
    Known { file: "tests/it/boards.rs", cites: "", entries: &[
        ("b6_a_board_that_vanishes_and_returns_goes_on_where_it_was", "a board's folder is moved away and back", "-", "each told once, nothing made anew"),
        ("b7_a_board_of_garbage_leaves_the_others_alone", "a board of garbage", "-", "left as it is; the others are served"),
        ("b2_one_spoilt_row_spoils_no_other", "values of wrong types and broken JSON", "-", "the good row is told"),
        ("report_8_two_names_of_one_board_are_one_board", "a board under a second name", "-", "each told once"),
        ("b6_boards_are_found_and_archived_while_we_run", "a board appears, is archived and comes back, twice", "-", "let go while it is archived; each told once"),
        ("b6_a_board_under_another_name_is_the_same_board", "a board's folder is renamed and its cursors set back", "-", "what was told is not told again"),
        ("f1_a_folder_that_was_made_anew_is_heard", "a board's folder is removed, or moved, and made anew", "-", "heard at once, not only looked for"),
        ("b6_another_file_under_the_same_name_begins_anew", "another file takes a board's place", "-", "each event of both files told once"),
    ]},
    Known { file: "tests/it/endings.rs", cites: "", entries: &[
        ("f3_report_1_there_is_no_burst_of_history_at_the_first_start_nor_at_the_second", "old events and cursors of 0", "-", "nothing is told of them"),
        ("f3_an_event_of_the_subscriptions_own_second_is_told", "an event of the second of its subscription", "-", "told"),
        ("s2_what_is_unsent_is_cancelled_when_its_row_goes", "unsubscribed with something unsent", "-", "cancelled and listed"),
        ("d10_what_the_board_calls_settled_is_closed_unsent_at_the_start", "the cursor was raised by somebody else", "-", "taken, not sent"),
        ("s3_the_row_of_an_archived_task_goes_when_its_last_event_is_settled", "a task is archived with an event under way", "-", "told, then the row goes"),
        ("o3_an_adopted_row_that_vanishes_with_something_owed_is_delivered_all_the_same", "an adopted row vanishes with something owed", "-", "delivered from the copy"),
        ("d10_a_lost_ledger_repeats_nothing", "the ledger is deleted", "-", "nothing is repeated, new events are told"),
        ("f4_what_is_too_old_is_listed_and_can_be_sent_by_hand", "events older than max_age", "-", "expired, listed, sent on request"),
        ("f4_a_mass_expiry_waits_for_the_operator", "more would expire than is done unasked", "-", "waits for --accept; another board goes on"),
    ]},
    Known { file: "tests/it/faults/reports.rs", cites: "", entries: &[
        ("report_5_a_task_that_is_blocked_a_second_time_is_told_a_second_time", "blocked, unblocked, blocked", "-", "told twice; the row stays"),
        ("report_19_report_27_a_subscription_by_hand_names_somebody_and_inherits_the_thread", "an empty chat; a thread that was left out", "-", "refused; the thread of the row that is there"),
        ("s1_report_20_a_server_that_knows_nothing_for_a_while_ends_no_subscription", "404 for 30 wakes of ten sessions", "retryable", "no row goes, each told once"),
        ("report_22_report_24_requests_for_review_and_loops_wake_with_what_was_handed_over", "kinds that older programs did not tell", "-", "each a wake with its hand-off"),
        ("d1_report_35_the_cursor_moves_after_the_wake_that_worked", "500, 500, 200", "retryable", "three wakes under one key; the cursor after the third"),
        ("w5_report_42_only_the_kinds_that_may_wake_do", "kinds that may not wake", "-", "settled without a wake"),
        ("report_54_a_board_that_comes_and_goes_costs_no_descriptor", "a board that vanishes 20 times, ten times with garbage in its place", "-", "as many descriptors as before"),
        ("b4_report_63_a_board_that_is_locked_for_a_while_is_raised_later_and_told_once", "another writer holds the board", "delivered", "cursors are raised later, nothing is sent again"),
        ("b2_report_65_a_row_for_no_task_at_all_harms_nobody", "a row of a task that is none", "-", "the others are told"),
        ("d7_report_73_a_repeat_whose_outcome_is_unknown_again_is_parked", "cut, and the marked repeat is cut too", "unknown", "a dead letter; never more than two copies"),
        ("b5_report_13_a_board_that_nobody_subscribed_to_is_not_written", "events and no subscription", "-", "no write to the board"),
        ("report_142_a_dead_proxy_in_the_environment_is_not_asked", "proxy variables that lead nowhere, with a password", "-", "told directly; the password is not logged"),
        ("b1_report_153_a_board_has_the_same_schema_after_deliveries", "a whole delivery", "-", "the board's schema, version and journal mode stay"),
        ("b3_report_157_nothing_of_ours_holds_up_a_checkpoint_while_a_turn_runs", "another program truncates the log in a turn", "-", "it can, at once"),
        ("f1_report_161_an_event_after_a_checkpoint_is_seen_though_the_log_is_no_longer", "the log is truncated before each event", "-", "each event is seen"),
    ]},
    Known { file: "tests/it/gathering.rs", cites: "", entries: &[
        ("w5_what_happens_while_a_session_is_held_goes_out_in_few_turns_and_is_named_once", "many events while a turn runs", "-", "gathered, each named once"),
        ("w5_what_does_not_fit_a_turn_waits_for_the_next_one", "more than a turn may hold", "-", "the rest in the next turn"),
        ("w5_report_93_the_order_within_a_subscription_holds_across_a_restart", "a restart in the middle of a row of events", "-", "in order, once"),
        ("w4_a_running_turn_is_waited_for", "the session is busy", "-", "woken after its turn"),
        ("w4_what_a_failed_wake_left_open_is_no_running_turn_also_after_a_restart", "a failed wake leaves an open turn", "failed_turn", "woken again"),
        ("w8_a_session_that_the_server_does_not_know_is_parked_if_the_operator_wants_it_so", "an unknown session", "-", "a dead letter with its reason"),
        ("w2_report_36_an_empty_or_impossible_session_is_parked_and_the_tasks_own_is_not_woken", "an empty or impossible session id", "target", "a dead letter with its reason"),
        ("w3_a_session_that_was_compressed_is_followed", "the session goes on under another name", "-", "told there, once"),
        ("w5_a_session_is_woken_no_oftener_than_the_operator_allows_also_after_a_restart", "more events than wakes in an hour", "-", "the rest wait, also after a restart"),
        ("w5_wakes_of_one_session_keep_their_distance", "events without a pause", "-", "wakes keep their distance"),
    ]},
    Known { file: "tests/it/pings.rs", cites: "", entries: &[
        ("d5_report_146_a_failure_in_the_middle_repeats_nothing_and_overtakes_nothing", "the third of five messages is refused once", "retryable", "five messages in order, once"),
        ("d5_report_93_the_rest_of_a_row_of_messages_follows_after_a_restart", "a restart after the second of five messages", "retryable", "the other three, in order"),
        ("report_18_a_row_whose_task_is_done_stays_until_the_last_event_is_out", "the last message of a done task fails", "retryable", "both in order, the row stays"),
        ("d4_a_chat_that_fails_holds_up_no_other_subscription", "one chat refuses for ever", "retryable", "others are told, its cursor stays"),
    ]},
    Known { file: "tests/it/unknown.rs", cites: "", entries: &[
        ("d7_where_nobody_can_find_out_it_is_sent_once_more_and_says_so", "cut, and no route to look", "unknown", "once more, marked"),
        ("d7_or_it_is_parked_if_the_operator_wants_it_so", "cut, no route to look, on_unknown = park", "unknown", "a dead letter"),
        ("d11_what_is_found_answered_is_not_sent_again", "`dead retry` of an unknown outcome that arrived", "unknown", "found, not sent"),
        ("d11_what_never_arrived_is_sent_again_with_the_same_bytes_and_key", "`dead retry` of an unknown outcome that never arrived", "unknown", "same bytes and key again"),
        ("d11_what_nobody_can_find_out_is_sent_because_it_was_asked_for_and_says_so", "`dead retry` of what nobody can find out", "unknown", "once more, marked"),
    ]},
    Known { file: "tests/it/verdicts.rs", cites: "", entries: &[
        ("d8_a_refused_key_pauses_the_channel_and_everything_arrives_once_it_is_right", "a wrong key, eight sessions", "credential", "the channel rests; each told once later"),
        ("d8_too_many_requests_are_tried_again_no_sooner_than_asked", "429 once", "busy", "sent again, no sooner than asked"),
        ("w7_a_turn_that_fails_three_times_is_parked_and_retried_by_hand_while_we_run", "three failed turns", "failed_turn", "a dead letter; a fourth on request"),
        ("d3_one_bad_member_of_a_turn_does_not_take_the_others_with_it", "413 for three gathered, then for one of them", "payload", "split; one parked, two told"),
        ("d11_a_replay_sends_again_and_says_so", "`replay` of something delivered", "delivered", "once more, marked"),
        ("w6_a_turn_whose_answer_was_lost_is_found_in_the_session_and_not_sent_again", "the turn runs, its answer is dropped", "unknown", "found, not sent again"),
        ("w6_a_wake_that_ran_nothing_is_sent_once_more_with_the_same_bytes_and_key", "the request is lost by the server", "unknown", "same bytes and key again"),
        ("w6_report_37_an_answer_that_stays_a_failure_ends_in_the_dead_letters", "a crash, then a stored 502", "failed_turn", "a dead letter, not an endless loop"),
        ("d8_a_server_that_is_down_is_waited_for_and_loses_nothing", "the server is down", "unreachable", "told once it is back"),
        ("w6_a_server_that_dies_in_a_turn_answers_it_once_after_all", "the server is killed in a turn", "unknown", "one answer"),
        ("d1_report_50_an_outcome_that_cannot_be_written_is_not_sent_again", "the ledger is locked when the answer comes", "delivered", "written later, not sent again"),
    ]},
];
