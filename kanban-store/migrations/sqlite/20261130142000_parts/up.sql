-- How many parts of a leg's message were accepted, and in what other shape or place it goes after a
-- refusal: as plain text, to the chat above its thread.
ALTER TABLE legs ADD COLUMN part INTEGER NOT NULL DEFAULT 0;
ALTER TABLE legs ADD COLUMN plain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE legs ADD COLUMN parent INTEGER NOT NULL DEFAULT 0;
