-- The failed attempts of a job, and its last error as the job's record stores it. A dead letter has `dead` 1 and died at `due_at`;
-- `redriven` 1: it was redriven since, and has not started.
ALTER TABLE evenkeel_jobs ADD COLUMN errors INTEGER NOT NULL DEFAULT 0;

ALTER TABLE evenkeel_jobs ADD COLUMN failure BLOB NULL;

ALTER TABLE evenkeel_jobs ADD COLUMN dead INTEGER NOT NULL DEFAULT 0;

ALTER TABLE evenkeel_jobs ADD COLUMN redriven INTEGER NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS evenkeel_jobs_due ON evenkeel_jobs (topic, dead, due_at, job) WHERE state = 1;
