-- Version 2: jobs and their artifacts.

CREATE TABLE job (
    seq INTEGER PRIMARY KEY,           -- order of submission
    id BLOB NOT NULL UNIQUE,           -- 16 bytes
    kind TEXT NOT NULL,
    campaign_id BLOB NOT NULL,         -- 16 bytes
    hash BLOB NOT NULL,                -- 32 bytes, the revision it is about
    parameters TEXT NOT NULL,          -- JSON
    state INTEGER NOT NULL CHECK (state IN (1, 2, 3, 4, 5)),
    n_done INTEGER NOT NULL DEFAULT 0,
    n_total INTEGER NOT NULL DEFAULT 0,
    n_attempts INTEGER NOT NULL DEFAULT 0, -- how often it was begun
    created_ms INTEGER NOT NULL,
    started_ms INTEGER NOT NULL DEFAULT 0, -- 0: not yet
    ended_ms INTEGER NOT NULL DEFAULT 0,
    sentence TEXT NOT NULL DEFAULT '',
    artifact BLOB                      -- 32 bytes, a digest; exactly the done ones have it
        CHECK ((artifact IS NOT NULL) = (state = 3))
);
CREATE INDEX job_state ON job (state, seq);

-- The digest is the BLAKE2b-256 of the bytes. Rows are never changed or deleted, except that damaged
-- bytes are repaired.
CREATE TABLE artifact (
    seq INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,       -- 32 bytes
    bytes BLOB NOT NULL
);
