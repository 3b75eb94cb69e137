-- A number that every change of a thread's rows raises: who knows it knows that nothing has changed.

ALTER TABLE threads ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
