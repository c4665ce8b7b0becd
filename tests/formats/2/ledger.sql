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
INSERT INTO "entry" VALUES(1,'table','budget',NULL,'1','0','0','opened with epsilon=1.0; neighbors: one record added or removed','2026-11-16T15:26:52+00:00','ec104c6021fbefae6b5d25d3090a2135','0b575b5f9fd6e7c51776363249495759803525d871e57248eff5d0f1aef00964');
INSERT INTO "entry" VALUES(2,'table','charge',NULL,'1/3','1/3','0','fit ID3Classifier','2026-11-16T15:26:52+00:00','c5200d7102b2d6e7266376908a30cede','3b95e35ab4888ba806d2f668109637e7995e4e053f0723a39a64ecdeeb780d3f');
INSERT INTO "entry" VALUES(3,'table','budget',NULL,'2','1/3','0','set from epsilon=1.0 to epsilon=2.0','2026-11-16T15:26:52+00:00','dad82913d947fb40e981e7e4e786059a','bfda0d9eba85085b112fc2057b8587fd6e5f5b062ea584f1f5cb472dd1cbb327');
INSERT INTO "entry" VALUES(4,'table','charge',NULL,'1/3','2/3','0','fit ID3Classifier','2026-11-16T15:26:52+00:00','24d37111dcb6c2cc0e9dd851dcabe4f3','c0e0095a2348cb874c80cd80b5265439ea21ba08ad8812407d94b11f74216669');
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
INSERT INTO "ledger_head" VALUES(1,4,'c0e0095a2348cb874c80cd80b5265439ea21ba08ad8812407d94b11f74216669');
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
