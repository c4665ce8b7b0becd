BEGIN TRANSACTION;
CREATE TABLE account (
	name TEXT NOT NULL, 
	epsilon TEXT NOT NULL, 
	delta TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	total TEXT NOT NULL, neighbors TEXT, "table" TEXT, batch TEXT, member TEXT, period INTEGER, 
	PRIMARY KEY (name)
);
INSERT INTO "account" VALUES('table','2','0','epsilon','2','one record added or removed',NULL,NULL,NULL,NULL);
CREATE TABLE batch (
	"table" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	disjoint BOOLEAN NOT NULL, 
	created TEXT NOT NULL, types TEXT, 
	PRIMARY KEY ("table", name), 
	FOREIGN KEY("table") REFERENCES registered_table (name)
);
CREATE TABLE bookmark (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
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
INSERT INTO "entry" VALUES(1,'table','budget',NULL,'1','0','0','opened with epsilon=1.0; neighbors: one record added or removed','2026-11-17T21:41:09+00:00','cbde022b29461ae4f8d55055966fda9e desk:root','7a46b799b1785e658fef72086f6688b3d21a5f787094ff19b5528455803b3281');
INSERT INTO "entry" VALUES(2,'table','charge',NULL,'1/3','1/3','0','fit ID3Classifier','2026-11-17T21:41:09+00:00','cf959ecde625daaf820fc8594f093de1 desk:root','3724b725789f99fdc8523f0bca21521aa41f9a648f16d3b7782b8d1987ee31de');
INSERT INTO "entry" VALUES(3,'table','budget',NULL,'2','1/3','0','set from epsilon=1.0 to epsilon=2.0','2026-11-17T21:41:09+00:00','6791f80ba79e13ba465ecbad6b96433e desk:root','5ac3f8539b7e36b7f73e648e10a0550e6a0fa312684f665629993fa6ab54ecb1');
INSERT INTO "entry" VALUES(4,'table','charge',NULL,'1/3','2/3','0','fit ID3Classifier','2026-11-17T21:41:09+00:00','28331bba4b5cb46c484007c3de79b626 desk:root','c9bcabfae178920b78270c0ddfb9f1f1411980dc9086e45321941dab35aed398');
CREATE TABLE frith_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT frith_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "frith_version" VALUES('0008');
CREATE TABLE job (
	id TEXT NOT NULL, 
	member TEXT NOT NULL, 
	"table" TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT NOT NULL, 
	body_hash TEXT NOT NULL, 
	seed BIGINT NOT NULL, 
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
	problem TEXT, forest TEXT, round TEXT, stored BIGINT DEFAULT 0 NOT NULL, 
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
INSERT INTO "ledger_head" VALUES(1,4,'c9bcabfae178920b78270c0ddfb9f1f1411980dc9086e45321941dab35aed398');
CREATE TABLE member (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	subject TEXT, 
	created TEXT NOT NULL, 
	disabled TEXT, stored BIGINT DEFAULT 0 NOT NULL, owner TEXT, expires TEXT, 
	PRIMARY KEY (name), 
	UNIQUE (subject)
);
CREATE TABLE proposal (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	"table" TEXT NOT NULL, 
	member TEXT NOT NULL, 
	job TEXT, 
	document TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created TEXT NOT NULL, 
	state TEXT NOT NULL, 
	decider TEXT, 
	decided TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY("table") REFERENCES registered_table (name), 
	FOREIGN KEY(member) REFERENCES member (name)
);
CREATE TABLE registered_table (
	name TEXT NOT NULL, 
	title TEXT NOT NULL, 
	source TEXT NOT NULL, 
	domain TEXT NOT NULL, 
	signed BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	policy TEXT NOT NULL, 
	created TEXT NOT NULL, types TEXT, 
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
CREATE TABLE table_curator (
	"table" TEXT NOT NULL, 
	member TEXT NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY ("table", member), 
	FOREIGN KEY("table") REFERENCES registered_table (name), 
	FOREIGN KEY(member) REFERENCES member (name)
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
	revoked TEXT, parent TEXT, minter TEXT, scopes TEXT, session TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(member) REFERENCES member (name)
);
CREATE TABLE worker (
	name TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE INDEX entries_of_an_account ON entry (account, id);
CREATE TRIGGER entry_is_kept_update BEFORE update ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END;
CREATE TRIGGER entry_is_kept_delete BEFORE delete ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END;
CREATE INDEX jobs_by_state ON job (state, created);
CREATE INDEX jobs_by_body ON job ("table", version, body_hash);
CREATE INDEX accounts_of_a_table ON account ("table", period);
CREATE INDEX accounts_of_a_member ON account (member);
CREATE INDEX entries_of_a_request ON entry (request);
CREATE INDEX jobs_by_time ON job (created, id);
CREATE INDEX jobs_of_a_member ON job (member, created, id);
CREATE INDEX jobs_of_a_table ON job ("table", created, id);
CREATE INDEX jobs_of_a_member_on_a_table ON job (member, "table", created, id);
CREATE INDEX jobs_by_lease ON job (member, lease);
CREATE INDEX jobs_by_worker ON job (worker, finished);
CREATE INDEX jobs_by_release ON job (release);
CREATE INDEX jobs_by_forest ON job (forest);
CREATE INDEX jobs_by_round ON job (round);
CREATE INDEX tokens_by_parent ON token (parent);
CREATE INDEX proposals_of_a_table ON proposal ("table", state);
CREATE INDEX proposals_by_job ON proposal (job);
COMMIT;
