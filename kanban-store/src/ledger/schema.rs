//! The ledger's tables, written by `cargo xtask migrations check --write` and never by hand.

diesel::table! {
    aliases (channel, raw) {
        channel -> Text,
        raw -> Text,
        resolved -> Text,
        learnt_at -> BigInt,
    }
}

diesel::table! {
    attempts (id) {
        id -> BigInt,
        leg_id -> BigInt,
        claim_id -> BigInt,
        sent_at -> BigInt,
        ended_at -> BigInt,
        verdict -> Text,
        detail -> Text,
    }
}

diesel::table! {
    boards (id) {
        id -> BigInt,
        path -> Text,
        slug -> Text,
        incarnation -> BigInt,
        oldest_event -> Nullable<BigInt>,
        oldest_hash -> Nullable<Text>,
        sequence -> BigInt,
        position_event -> BigInt,
        position_hash -> Nullable<Text>,
        position_rowid -> BigInt,
        position_row_print -> Nullable<Text>,
        updated_at -> BigInt,
    }
}

diesel::table! {
    claims (id) {
        id -> BigInt,
        instance -> Text,
        lane -> Text,
        target -> Text,
        channel -> Text,
        chat -> Text,
        thread -> Text,
        key -> Text,
        reference -> Text,
        body -> Text,
        legs -> Integer,
        state -> Text,
        verdict -> Text,
        detail -> Text,
        intended_at -> BigInt,
        settled_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    events (board_id, incarnation, event) {
        board_id -> BigInt,
        incarnation -> BigInt,
        event -> BigInt,
        kind -> Text,
        task -> Text,
        title -> Text,
        assignee -> Nullable<Text>,
        handoff -> Nullable<Text>,
        session -> Nullable<Text>,
        notes -> Text,
        written_at -> BigInt,
        print -> Text,
    }
}

diesel::table! {
    instances (id) {
        id -> Text,
        pid -> BigInt,
        started_at -> BigInt,
    }
}

diesel::table! {
    lanes (lane) {
        lane -> Text,
        claim_id -> BigInt,
    }
}

diesel::table! {
    legs (id) {
        id -> BigInt,
        subscription_id -> BigInt,
        event -> BigInt,
        kind -> Text,
        state -> Text,
        claim_id -> Nullable<BigInt>,
        due_at -> BigInt,
        planned_at -> BigInt,
        failures -> Integer,
        failed_turns -> Integer,
        epoch -> Integer,
        alone -> Integer,
        repeat -> Integer,
        replay -> Integer,
        dropped -> Integer,
        reason -> Text,
        verdict -> Text,
        first_attempt_at -> Nullable<BigInt>,
        last_attempt_at -> Nullable<BigInt>,
        updated_at -> BigInt,
        part -> Integer,
        plain -> Integer,
        parent -> Integer,
    }
}

diesel::table! {
    pauses (channel) {
        channel -> Text,
        until -> BigInt,
        reason -> Text,
        credential -> Integer,
        updated_at -> BigInt,
    }
}

diesel::table! {
    subscriptions (id) {
        id -> BigInt,
        board_id -> BigInt,
        incarnation -> BigInt,
        task -> Text,
        platform -> Text,
        chat -> Text,
        thread -> Text,
        created_at -> BigInt,
        profile -> Text,
        adopted -> Integer,
        previous_owner -> Nullable<Text>,
        mode -> Text,
        baseline -> BigInt,
        seen -> BigInt,
        settled -> BigInt,
        board_cursor -> BigInt,
        archived_event -> Nullable<BigInt>,
        life -> Text,
        updated_at -> BigInt,
    }
}

diesel::joinable!(attempts -> legs (leg_id));
diesel::joinable!(lanes -> claims (claim_id));
diesel::joinable!(legs -> subscriptions (subscription_id));
diesel::joinable!(subscriptions -> boards (board_id));

diesel::allow_tables_to_appear_in_same_query!(
    aliases,
    attempts,
    boards,
    claims,
    events,
    instances,
    lanes,
    legs,
    pauses,
    subscriptions,
);
