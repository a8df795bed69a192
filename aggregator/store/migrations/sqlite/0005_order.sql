-- Version 5: nothing keeps the order in which reports arrived. The reports of a round are in blocks, in
-- the order of ids, and the number of a block shows no order.

-- The rounds with reports.
CREATE TABLE round (
    hash BLOB NOT NULL,                -- of the revision
    round INTEGER NOT NULL,
    n_reports INTEGER NOT NULL,
    n_arrived INTEGER NOT NULL,        -- blocks that were not merged yet
    n_merges INTEGER NOT NULL,         -- how often blocks were
    PRIMARY KEY (hash, round)
) WITHOUT ROWID;

-- A commit adds one block to a round; when the round has closed, its blocks are merged. The number is
-- taken from the checksum: SQLite finds a large row by a number much faster than by a key of bytes.
CREATE TABLE block (
    number INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    round INTEGER NOT NULL,
    first BLOB NOT NULL,               -- 16 bytes, the least id in it
    format INTEGER NOT NULL,           -- of the packed reports (store/packed.h)
    n_reports INTEGER NOT NULL,
    is_merged INTEGER NOT NULL,
    sum BLOB NOT NULL,                 -- 16 bytes (store/commit_sum.h)
    reports BLOB NOT NULL,             -- in the order of ids
    UNIQUE (hash, round, first)
);

INSERT INTO round SELECT hash, round, sum(n_reports), count(*), 0 FROM commits GROUP BY hash, round;

-- In the order of ids, so that pages do not show the old order. Damaged commits stay refused.
INSERT INTO block (number, hash, round, first, format, n_reports, is_merged, sum, reports)
    SELECT random() & 0x7fffffffffffffff, hash, round, first, format, n_reports, 0,
           CASE WHEN sum IS dpot_commit_sum(hash, round, o.seq, format, n_reports, c.reports)
                THEN dpot_commit_sum(hash, round, 0, format, n_reports,
                                     dpot_sort_reports(format, n_reports, c.reports))
                ELSE zeroblob(16) END,
           dpot_sort_reports(format, n_reports, c.reports)
    FROM (SELECT seq, ifnull(dpot_first_report(format, n_reports, reports), randomblob(16)) AS first
          FROM commits ORDER BY hash, round, first) AS o
         CROSS JOIN commits AS c ON c.seq = o.seq
         LEFT JOIN commit_sum AS s ON s.seq = o.seq;

DROP TABLE commit_sum;
DROP TABLE commits;
