-- Version 4: what every commit was when it was written, so that a bit that changes on the disk is seen.

CREATE TABLE commit_sum (
    seq INTEGER PRIMARY KEY,           -- of commits
    sum BLOB NOT NULL                  -- 16 bytes (store/commit_sum.h)
);
INSERT INTO commit_sum (seq, sum)
    SELECT seq, dpot_commit_sum(hash, round, seq, format, n_reports, reports) FROM commits;
