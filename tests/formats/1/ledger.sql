BEGIN TRANSACTION;
CREATE TABLE account (
	name TEXT NOT NULL, 
	epsilon TEXT NOT NULL, 
	delta TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	total TEXT NOT NULL, neighbors TEXT, 
	PRIMARY KEY (name)
);
INSERT INTO "account" VALUES('table','2','0','epsilon','2','one record added or removed');
CREATE TABLE batch (
	"table" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	disjoint BOOLEAN NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY ("table", name), 
	FOREIGN KEY("table") REFERENCES registered_table (name)
);
CREATE TABLE browser_session (
	hash TEXT NOT NULL, 
	token TEXT NOT NULL, 
	csrf TEXT NOT NULL, 
	expires TEXT NOT NULL, 
	PRIMARY KEY (hash), 
	FOREIGN KEY(token) REFERENCES token (id)
);
CREATE TABLE entry (
	id BIGINT NOT NULL, 
	account TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	request TEXT, 
	amount TEXT NOT NULL, 
	spent TEXT NOT NULL, 
	held TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	at TEXT NOT NULL, 
	salt TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_entry_a_step UNIQUE (account, request, kind), 
	FOREIGN KEY(account) REFERENCES account (name)
);
INSERT INTO "entry" VALUES(1,'table','budget',NULL,'1','0','0','opened with epsilon=1.0; neighbors: one record added or removed','2026-11-16T12:28:39+00:00','789af66368027ce679d25903bc89bbf9','5a960d5a2c84b345ee465c53e0c867e8eae53b5bf962a08a69f3be0df5c0cf42');
INSERT INTO "entry" VALUES(2,'table','charge',NULL,'1/3','1/3','0','fit ID3Classifier','2026-11-16T12:28:39+00:00','ee6aa95dbf2f285dc0ddf1fea700c8bd','68b16bb596f7312d2cd3d73b97abb4ebcb9b935aaa5e310ece081fd31ca6f4bd');
INSERT INTO "entry" VALUES(3,'table','budget',NULL,'2','1/3','0','set from epsilon=1.0 to epsilon=2.0','2026-11-16T12:28:39+00:00','73c2e9b8385a3d59742e926da3aafafd','554e174349082d52e270b6c6dba602ba10c513baf8ef4a5b7ddc719cf188dafb');
INSERT INTO "entry" VALUES(4,'table','charge',NULL,'1/3','2/3','0','fit ID3Classifier','2026-11-16T12:28:39+00:00','eac5647027517852049729d79c9cfe7c','2007a74c5c8b6f4594e7eeca853ecdbd44ef70af2de15d875beb6f8549a7afc0');
CREATE TABLE frith_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT frith_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "frith_version" VALUES('0003');
CREATE TABLE job (
	id TEXT NOT NULL, 
	member TEXT NOT NULL, 
	"table" TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT NOT NULL, 
	body_hash TEXT NOT NULL, 
	seed BIGINT NOT NULL, 
	accounts TEXT NOT NULL, 
	state TEXT NOT NULL, 
	passes INTEGER NOT NULL, 
	doing TEXT NOT NULL, 
	created TEXT NOT NULL, 
	started TEXT, 
	finished TEXT, 
	attempts INTEGER NOT NULL, 
	worker TEXT, 
	lease TEXT, 
	release TEXT, 
	problem TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(member) REFERENCES member (name), 
	FOREIGN KEY("table") REFERENCES registered_table (name)
);
CREATE TABLE journal (
	job TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	answers BLOB NOT NULL, 
	PRIMARY KEY (job, number), 
	FOREIGN KEY(job) REFERENCES job (id)
);
CREATE TABLE ledger_head (
	id INTEGER NOT NULL, 
	entry BIGINT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "ledger_head" VALUES(1,4,'2007a74c5c8b6f4594e7eeca853ecdbd44ef70af2de15d875beb6f8549a7afc0');
CREATE TABLE member (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	subject TEXT, 
	created TEXT NOT NULL, 
	disabled TEXT, 
	PRIMARY KEY (name), 
	UNIQUE (subject)
);
CREATE TABLE registered_table (
	name TEXT NOT NULL, 
	title TEXT NOT NULL, 
	source TEXT NOT NULL, 
	domain TEXT NOT NULL, 
	signed BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	policy TEXT NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE release (
	id TEXT NOT NULL, 
	job TEXT NOT NULL, 
	document BLOB NOT NULL, 
	hash TEXT NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (job), 
	FOREIGN KEY(job) REFERENCES job (id)
);
CREATE TABLE request_key (
	member TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	job TEXT NOT NULL, 
	PRIMARY KEY (member, "key"), 
	FOREIGN KEY(member) REFERENCES member (name), 
	FOREIGN KEY(job) REFERENCES job (id)
);
CREATE TABLE table_grant (
	"table" TEXT NOT NULL, 
	member TEXT NOT NULL, 
	columns TEXT, 
	epsilon TEXT, 
	created TEXT NOT NULL, 
	PRIMARY KEY ("table", member), 
	FOREIGN KEY("table") REFERENCES registered_table (name), 
	FOREIGN KEY(member) REFERENCES member (name)
);
CREATE TABLE token (
	id TEXT NOT NULL, 
	member TEXT NOT NULL, 
	note TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	created TEXT NOT NULL, 
	expires TEXT NOT NULL, 
	revoked TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(member) REFERENCES member (name)
);
CREATE INDEX entries_of_an_account ON entry (account, id);
CREATE TRIGGER entry_is_kept_update BEFORE update ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END;
CREATE TRIGGER entry_is_kept_delete BEFORE delete ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END;
CREATE INDEX jobs_by_state ON job (state, created);
CREATE INDEX jobs_by_body ON job ("table", version, body_hash);
COMMIT;
