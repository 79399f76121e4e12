-- Why nothing is decided for a run now, as its holder, or who cannot become it, noted for people;
-- empty = it is not parked.
ALTER TABLE run ADD COLUMN parked TEXT NOT NULL DEFAULT '';
