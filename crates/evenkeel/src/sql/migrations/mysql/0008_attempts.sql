-- The failed attempts of a job, and its last error as the job's record stores it. A dead letter has `dead` 1 and died at `due_at`;
-- `redriven` 1: it was redriven since, and has not started.
ALTER TABLE evenkeel_jobs
    ADD COLUMN errors BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN failure LONGBLOB NULL,
    ADD COLUMN dead BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN redriven BIGINT NOT NULL DEFAULT 0;

CREATE INDEX evenkeel_jobs_due ON evenkeel_jobs (topic, state, dead, due_at, job);
