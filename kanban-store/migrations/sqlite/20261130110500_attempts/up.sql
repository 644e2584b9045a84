-- What came of the requests for a leg that its last claim does not tell any more: those that delivered
-- nothing, and what was delivered before somebody asked for it again. The newest few of each leg.
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    leg_id BIGINT NOT NULL REFERENCES legs (id) ON DELETE CASCADE,
    claim_id BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE INDEX attempts_of_leg ON attempts (leg_id, id);
