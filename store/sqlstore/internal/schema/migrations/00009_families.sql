-- A revocation of a PAT also ends every PAT that was renewed from it: all of them have the family of the first.

ALTER TABLE tokens ADD COLUMN family TEXT NOT NULL DEFAULT ''; -- jti of the first; '': its own
