BEGIN TRANSACTION;
CREATE TABLE account (
	name TEXT NOT NULL, 
	epsilon TEXT NOT NULL, 
	delta TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	total TEXT NOT NULL, neighbors TEXT, 
	PRIMARY KEY (name)
);
INSERT INTO "account" VALUES('table-0','4','0','epsilon','4','one record added or removed');
INSERT INTO "account" VALUES('table-0/analyst-0','4','0','epsilon','4','one record added or removed');
CREATE TABLE batch (
	"table" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	disjoint BOOLEAN NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY ("table", name), 
	FOREIGN KEY("table") REFERENCES registered_table (name)
);
INSERT INTO "batch" VALUES('table-0','later','/tmp/tmpcvgp3ukk/later.parquet',1,'2026-11-16T12:28:40.616+00:00');
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
INSERT INTO "entry" VALUES(1,'table-0','budget',NULL,'4','0','0','opened with epsilon=4.0; neighbors: one record added or removed','2026-11-16T12:28:40+00:00','86a2771b5641f13d969aeee0226cb4f6','ab847b79cf036a3f2bac217984de4bb2b26091f323871f336e0f948c5815aca8');
INSERT INTO "entry" VALUES(2,'table-0/analyst-0','budget',NULL,'4','0','0','opened with epsilon=4.0; neighbors: one record added or removed','2026-11-16T12:28:42+00:00','29c4f0156b5708302eb0a08fae6b40ea','9c2214d8b583703ac10d96a5633a6a5b4bc813b95669206d7475699a19e23bb5');
INSERT INTO "entry" VALUES(3,'table-0','reserve','c43a8ff0736cd4fd','1/2','0','1/2','train id3','2026-11-16T12:28:42+00:00','487c833b3a632a49ce0b6bed2a8f38bf','25b50a546aee2e1b196f596ca6b4c1c113c9b714e167dff4ae2c949142b4e56c');
INSERT INTO "entry" VALUES(4,'table-0/analyst-0','reserve','c43a8ff0736cd4fd','1/2','0','1/2','train id3','2026-11-16T12:28:42+00:00','e7e2ee0911aa82cc704763f78ef51ce0','32b691115334531993510f7f493ab588a2f29ff8e813bbd2db12f75aad6d2639');
INSERT INTO "entry" VALUES(5,'table-0','charge','c43a8ff0736cd4fd','1/2','1/2','0','train id3','2026-11-16T12:28:42+00:00','b0d876d78f56446a968a8f88caa26d65','4f82a79d54188f485b15d69cf76857e10cac72b40b0cb49814c8ce367e992195');
INSERT INTO "entry" VALUES(6,'table-0/analyst-0','charge','c43a8ff0736cd4fd','1/2','1/2','0','train id3','2026-11-16T12:28:42+00:00','08023fde69b71dccf4aa0a6119a2eb74','207786c9e3cb5a7ac02dd65ee5d752880c2b4e8e6ff23e36ecbbc7939605e585');
INSERT INTO "entry" VALUES(7,'table-0','reserve','6a4b8ed4214e28ee','1/10','1/2','1/10','score','2026-11-16T12:28:42+00:00','b1f2fecaa08dbf8a41df8fa29044450c','acd9d40aaa985863e49a608f28228682318c3e51ebaefb9e6f9a7b354839a086');
INSERT INTO "entry" VALUES(8,'table-0/analyst-0','reserve','6a4b8ed4214e28ee','1/10','1/2','1/10','score','2026-11-16T12:28:42+00:00','238da14db2a7ff811f912df8c1a62d97','3d192e2aec4407934b4677b54f823a064eeaa81ac0bfc4732b74ba23ffe2ac3d');
INSERT INTO "entry" VALUES(9,'table-0','charge','6a4b8ed4214e28ee','1/10','3/5','0','score','2026-11-16T12:28:42+00:00','a07b72815b03976ac4281ffda80eb5e4','8b5e478582bfc746269144fdecf2bfe43bc663968bc8cce10feb97f527768ab8');
INSERT INTO "entry" VALUES(10,'table-0/analyst-0','charge','6a4b8ed4214e28ee','1/10','3/5','0','score','2026-11-16T12:28:42+00:00','31baebca4086a648a22f64a60cadfff5','668ec2c1d3302afbfb303845fd1715df528010f9acb0efe2c810a2e99ba899d4');
INSERT INTO "entry" VALUES(11,'table-0','reserve','eaf54b8e4bcef7d9','1/4','3/5','1/4','train id3','2026-11-16T12:28:43+00:00','bc7bcaf859ba4258be31ceb9746d1aee','0dcad93e99ee399635bae8717fb5c9c0ca91ec8598445b313c52ca93029fb6ee');
INSERT INTO "entry" VALUES(12,'table-0/analyst-0','reserve','eaf54b8e4bcef7d9','1/4','3/5','1/4','train id3','2026-11-16T12:28:43+00:00','bc7b63a45b6f8de687ffcb0062418568','7e5c88730de663ebfdd1093e76f1864ad285602cfaac98d8c7d30c53e795bb22');
INSERT INTO "entry" VALUES(13,'table-0','release','eaf54b8e4bcef7d9','1/4','3/5','0','train id3','2026-11-16T12:28:43+00:00','4e460094a0b58dda49fd7a5e5473454a','b9926ad3a33e268d199feb2f4017cf607a8b7905e2a08d1c069d4290fc352b5b');
INSERT INTO "entry" VALUES(14,'table-0/analyst-0','release','eaf54b8e4bcef7d9','1/4','3/5','0','train id3','2026-11-16T12:28:43+00:00','9a6fc7569c0771bc2ae923251d139fb3','5c7985ac1b71956fcb0a8dd56738d9258b7d4568084407a32527fbd3d1c16789');
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
INSERT INTO "job" VALUES('c43a8ff0736cd4fd','analyst-0','table-0',1,'train','{"columns": ["color", "round", "size"], "delta": "0.0", "epsilon": "0.5", "kind": "train", "learner": "id3", "parameters": {"bins": 16, "criterion": "max", "max_depth": 5, "min_support": null, "prune": true, "queries": "exponential"}}','4cb8d639d25934d71208388291f20a60bd53c69c209b28b0491c833973059bb6',2351100357,'["table-0", "table-0/analyst-0"]','done',4,'labels in the leaves','2026-11-16T12:28:42.125+00:00','2026-11-16T12:28:42.351+00:00','2026-11-16T12:28:42.519+00:00',1,'b123bdc58983',NULL,'f4d12b0ac880f07e',NULL);
INSERT INTO "job" VALUES('6a4b8ed4214e28ee','analyst-0','table-0',1,'score','{"delta": "0.0", "epsilon": "0.1", "forest": "f4d12b0ac880f07e", "kind": "score"}','f29b2f6eb6d1a9b6413d828c01634922cf5f3efd9205a2928861668f40cb012a',1367914476,'["table-0", "table-0/analyst-0"]','done',1,'confusion matrix','2026-11-16T12:28:42.703+00:00','2026-11-16T12:28:42.760+00:00','2026-11-16T12:28:42.808+00:00',1,'b123bdc58983',NULL,'f5dda7155e902ca6',NULL);
INSERT INTO "job" VALUES('eaf54b8e4bcef7d9','analyst-0','table-0',1,'train','{"columns": ["color", "round", "size"], "delta": "0.0", "epsilon": "0.25", "kind": "train", "learner": "id3", "parameters": {"bins": 16, "criterion": "max", "max_depth": 5, "min_support": null, "prune": true, "queries": "exponential"}}','489ca0ba4588ade046b0a64fbc1693f2c5bdbd3d0b693e798a169fa8b61c362c',2247682308,'["table-0", "table-0/analyst-0"]','cancelled',0,'','2026-11-16T12:28:43.034+00:00',NULL,'2026-11-16T12:28:43.137+00:00',0,NULL,NULL,NULL,NULL);
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
INSERT INTO "ledger_head" VALUES(1,14,'5c7985ac1b71956fcb0a8dd56738d9258b7d4568084407a32527fbd3d1c16789');
CREATE TABLE member (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	subject TEXT, 
	created TEXT NOT NULL, 
	disabled TEXT, 
	PRIMARY KEY (name), 
	UNIQUE (subject)
);
INSERT INTO "member" VALUES('carla','curator',NULL,'2026-11-16T12:28:39.585+00:00',NULL);
INSERT INTO "member" VALUES('analyst-0','analyst',NULL,'2026-11-16T12:28:40.618+00:00',NULL);
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
INSERT INTO "registered_table" VALUES('table-0','A small table','/tmp/tmpcvgp3ukk/table.parquet','{"format": "frith-domain/1", "records": 400, "label": {"name": "good", "values": ["no", "yes"]}, "attributes": [{"name": "color", "values": ["red", "green", "blue"]}, {"name": "round", "values": ["no", "yes"], "missing": "no"}, {"name": "size", "low": 0.0, "high": 10.0, "cells": 16, "missing": true}]}',0,1,'{"epsilon": "4", "delta": "0", "analyst_epsilon": null, "request_epsilon": null, "least_epsilon": "0.001", "learners": ["forest", "random-decision", "signal", "gini", "id3", "c45", "info-gain"], "renewal_days": null, "renewal_start": null}','2026-11-16T12:28:40.591+00:00');
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
INSERT INTO "release" VALUES('f4d12b0ac880f07e','c43a8ff0736cd4fd',X'789CBD545B6EE3300CBC8AE06F37F5338D7386BD411014B4CDC4DACA92570FB7DD2277DF91D306E9A2BB5F6D830016498D3943937C490EC6B2F3C9F6259E46C2293958E9879B73E0364FD264369EE17703C105FB18C892F6CC11C69393CA68C4B3558D60CFCAD36265B034CBE3D01AEBE0319A85E5CED85E50DF732F8C853D9A997BDC24E7C238796934EEEE123FB0E8B95348D90B1DC696AD308757BC13D28929B44A76403E0EAC05899FA615CE93F54E90EEC5601E05781D85F4C2D3033BE15929A18D1F24BCD49A80C0F046C925FBC8E1015CB6BB97640A76326E512D7F034B5E289E5989588F91BB81B47423C2BD749D65CFE2074D8A3A4678A91342F96D5E4493B5935ECED23F27DB1C76470AE1A25A6569D28113F4E6A7F45DCE4949C880DE8F934E56CE849CDD60E467A57C2FB3F81299C5FF65FE9DF4EB6596DF215351CB0A2DAB9776534CF332459F9F777DDA9F30AD642569BC63BB2BABBA5ED559965565D934779B4D95E6799DAF3665595677774DD3144D9D166556AED6F83575DD349BBAC124F46624A93F580BE7C0B216DE06675B65E0B0A88C004D63E47D34268EF54C2AF032D1DAC07CC6399224EFAD6C835F42174C6794B1EF4076D90D47CBACF16CE18EF00BC09AA0FF95051596CE61D6710FDE2B546C02DC52E631D966B17E039614AA9A5DF7CDFA0AEF6DE0A5B61E445C14698DF1315FB6BFD202BB486F72FCE1ED028AB6AB2FF6415AE7EFBB41AAB861F28BDFF1F2A2F3977B55B1CBF159CA7AB34F774D95AE6B3CF32C4F8BA6DCC77B6821ABD94289EC63074F58C723BAC72ED45AA95FF977F8626CE5B29C477A8A3D474FF73D4F1E6AEBA84FDFBB304DC682AA0E4AE15536683E0B4E935F01E84828E1A709DB5B7B492A399DFE0020D3FD8B','6155c64252aa1a91c2076f6328fe3d82fef7d337f2bd2e9ed65a76f80d773f25','2026-11-16T12:28:42.489+00:00');
INSERT INTO "release" VALUES('f5dda7155e902ca6','6a4b8ed4214e28ee',X'789C3590516E83301044AF62ED374DA1A469E00CBD01E263C19BD88DF122AF491A45DCBD0B523F67D6F29B9917C8C889A07DC185D384195AB8249FDDDBEEBF575040C0818240DB4164954F12E80B1879897973BBAAAC8AAAFCEC8BEEE35C545F75AFD73B268F71D48FABA6399CEBFA589D4E757D2A9B635DC075C18431D3CEA5597CE0A8E0F2B0E12C858CBB2A5545F2573770521270249348735983D692359C544F7C27AB2F516499E6EC39EE591F8EA241F3C383918C298BC1688DE38751D8D5F86C32DE484CA6104CE4ECBCBA38F0A207F7CFD99BA2DC14D0762F989734B3686A6D1F2F8B28CBE866C9FF2A7FA2D161F432E9D97A19136532DF3807D4190A1087DBCEB055148AE2B3BFFBFCD481548F18B6A9B4B20EAB81B4C171EDD775FD03F2F387C9','9e53d3de6367abd0406e7a0f2f7695686a170e78cb2c875113720a8e175b0808','2026-11-16T12:28:42.807+00:00');
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
INSERT INTO "table_grant" VALUES('table-0','analyst-0',NULL,NULL,'2026-11-16T12:28:40.635+00:00');
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
INSERT INTO "token" VALUES('b546f2defbcc','carla','','9cca3940dc1c935e76fbe92b1cb1f8eaace65102aa542e5697f0592d4c34b733','2026-11-16T12:28:39.595+00:00','2027-02-14T12:28:39.595+00:00',NULL);
INSERT INTO "token" VALUES('62b31b1de4ea','analyst-0','','57dccbf90f10af144d85f47f2beedc4d8ce422f594c99edccf24de30440a9344','2026-11-16T12:28:40.648+00:00','2027-02-14T12:28:40.648+00:00',NULL);
CREATE INDEX entries_of_an_account ON entry (account, id);
CREATE TRIGGER entry_is_kept_update BEFORE update ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END;
CREATE TRIGGER entry_is_kept_delete BEFORE delete ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END;
CREATE INDEX jobs_by_state ON job (state, created);
CREATE INDEX jobs_by_body ON job ("table", version, body_hash);
COMMIT;
