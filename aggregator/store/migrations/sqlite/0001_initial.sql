-- Version 1: signed revisions, accepted reports, counters.
-- Rows of commits are never changed or deleted: one row is one commit of one (hash, round).

CREATE TABLE revision (
    seq INTEGER PRIMARY KEY,           -- order of creation
    hash BLOB NOT NULL UNIQUE,         -- 32 bytes, the campaign hash
    campaign_id BLOB NOT NULL,         -- 16 bytes
    revision INTEGER NOT NULL,
    name TEXT NOT NULL,
    state INTEGER NOT NULL CHECK (state IN (1, 2, 3)),
    created_ms INTEGER NOT NULL,
    signed BLOB NOT NULL,              -- a SignedCampaign as served
    UNIQUE (campaign_id, revision)
);
CREATE UNIQUE INDEX revision_one_open ON revision (campaign_id) WHERE state = 2;

CREATE TABLE commits (
    seq INTEGER PRIMARY KEY,           -- order of acceptance
    hash BLOB NOT NULL,
    round INTEGER NOT NULL,
    format INTEGER NOT NULL,           -- of the packed reports (store/packed.h)
    n_reports INTEGER NOT NULL,
    reports BLOB NOT NULL
);
CREATE INDEX commits_pool ON commits (hash, round, seq);

CREATE TABLE pool_count (
    hash BLOB NOT NULL,
    status INTEGER NOT NULL,           -- enum dpot_report_status
    n INTEGER NOT NULL,
    PRIMARY KEY (hash, status)
) WITHOUT ROWID;

-- One row that the readiness check updates.
CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), n INTEGER NOT NULL);
INSERT INTO probe (id, n) VALUES (1, 0);
