BEGIN TRANSACTION;
CREATE TABLE account (
	name TEXT NOT NULL, 
	epsilon TEXT NOT NULL, 
	delta TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	total TEXT NOT NULL, neighbors TEXT, "table" TEXT, batch TEXT, member TEXT, period INTEGER, 
	PRIMARY KEY (name)
);
INSERT INTO "account" VALUES('table-0','4','0','epsilon','4','one record added or removed','table-0',NULL,NULL,NULL);
INSERT INTO "account" VALUES('table-0/analyst-0','4','0','epsilon','4','one record added or removed','table-0',NULL,'analyst-0',NULL);
INSERT INTO "account" VALUES('(events)','1/1000000000','0','epsilon','1/1000000000','one record added or removed',NULL,NULL,NULL,NULL);
CREATE TABLE batch (
	"table" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	disjoint BOOLEAN NOT NULL, 
	created TEXT NOT NULL, types TEXT, 
	PRIMARY KEY ("table", name), 
	FOREIGN KEY("table") REFERENCES registered_table (name)
);
INSERT INTO "batch" VALUES('table-0','later','{"connection": "sample", "table": "later.parquet"}',1,'2026-11-17T21:41:11.274+00:00','{"color": "large_string", "round": "large_string", "size": "double", "good": "large_string"}');
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
INSERT INTO "entry" VALUES(1,'table-0','budget',NULL,'4','0','0','opened with epsilon=4.0; neighbors: one record added or removed','2026-11-17T21:41:11+00:00','8142c6f8fd7227ed062b552b4908b823 (server)','19a407c955f952adc4928ef66f56737d82b846d527a83e6c8bc8c2d3c9bb5b7c');
INSERT INTO "entry" VALUES(2,'table-0','terms',NULL,'0','0','0','policy of table-0: 70dfee94ea2127c4b178e1d93aa8204f5679c9ba636a9ed6646599af5c9bd73f','2026-11-17T21:41:11+00:00','83affa91a8379448beccae41d997a42f (server)','91fb9059bfb5d36bdbedb759c0276ede8eb353d60b143e04701f71e611c730fb');
INSERT INTO "entry" VALUES(3,'table-0','terms',NULL,'0','0','0','batch later of table-0: 20df3048e25a632c37632aaa57e5685e10bec961e8f7452dbf6473a2e4ed867a','2026-11-17T21:41:11+00:00','11e298e321d5c554ef980602a4d937ea (server)','99cf6dda67bc2a7ffeddaa555e66a26b60059d9e03ac5fdff1afff8d8a591639');
INSERT INTO "entry" VALUES(4,'table-0','terms',NULL,'0','0','0','grant of table-0 to analyst-0: 6d9695b0f6f0de8c737c15a199b1658001af6e4ef0d756109efffbd0c69ad4c9','2026-11-17T21:41:11+00:00','927cdb102975c1bc2255a3293842afc7 (server)','f2fdcce12fabedfccba1beba254faba4c4d33fcc10208f687f6859418d87db91');
INSERT INTO "entry" VALUES(5,'table-0/analyst-0','budget',NULL,'4','0','0','opened with epsilon=4.0; neighbors: one record added or removed','2026-11-17T21:41:12+00:00','6c45929d78510e668bbefc991e6f8ec2 analyst-0','d0bf10b623b7bee1d15f3b5cc5ec2b7761185e6b1d83ecc3a6686b02a68366ae');
INSERT INTO "entry" VALUES(6,'table-0','reserve','e572ab14dcb61808','1/2','0','1/2','train id3','2026-11-17T21:41:12+00:00','079e3b7859c7be428a5bd2cd4a7b334c analyst-0','9cae3d98cb185abf9f7ea9ee920072af50899afd6a86b12ef9a10940c565df64');
INSERT INTO "entry" VALUES(7,'table-0/analyst-0','reserve','e572ab14dcb61808','1/2','0','1/2','train id3','2026-11-17T21:41:12+00:00','4bd76e25766baf2def2d12254c83f03d analyst-0','faee5f6faa2a331284e77a604422c8d4def1e30158726023d499667402bebd59');
INSERT INTO "entry" VALUES(8,'(events)','budget',NULL,'1/1000000000','0','0','opened with epsilon=1e-09; neighbors: one record added or removed','2026-11-17T21:41:12+00:00','f154b009c43960d062370d0a35b79eaa analyst-0','d7fb9b10c430a2e79762fec3f9ff58b12f6cbd21168e83f0ab08a37005f204c8');
INSERT INTO "entry" VALUES(9,'(events)','terms',NULL,'0','0','0','event: {"action":"ask","target":"table-0","outcome":"done","role":"analyst","address":"127.0.0.1","request":"f143f299ca0c7cc6","via":"83756407ae1f","after":{"job":"e572ab14dcb61808"},"more":{"kind":"train","epsilon":"0.5"}}','2026-11-17T21:41:12+00:00','45df6ebfe0dea855363f535829a0da55 analyst-0','f3a730d7b9a223ff0a9e7c1fb1d29eabbac103e508d55a1e8f542aabd6a2f168');
INSERT INTO "entry" VALUES(10,'table-0','charge','e572ab14dcb61808','1/2','1/2','0','train id3','2026-11-17T21:41:12+00:00','1757d441f1208ec4ddd875c97235cb66 (server)','4d14c8acec8dbbd33b11ed96a3a82fc7b5ff39631112b684e0c97020ee21455a');
INSERT INTO "entry" VALUES(11,'table-0/analyst-0','charge','e572ab14dcb61808','1/2','1/2','0','train id3','2026-11-17T21:41:12+00:00','d09ef0c64c5c9e1d2977d7da296c3e68 (server)','ab6a5ff0719b2d64f266cbd1096daf78e0a610b0a92bf5718117b00af719b013');
INSERT INTO "entry" VALUES(12,'table-0','reserve','78145ca096159924','1/10','1/2','1/10','score','2026-11-17T21:41:12+00:00','d1d05db977da47768a5f492a95a6e5bc analyst-0','72ea0f0775307b97078d330f22c169f612829b6106886dbee6327e7b57dbffb3');
INSERT INTO "entry" VALUES(13,'table-0/analyst-0','reserve','78145ca096159924','1/10','1/2','1/10','score','2026-11-17T21:41:12+00:00','2e63d1bec4899445933606016658d155 analyst-0','03753d31cf08996950a5ae309fffe489190040c3f4c2915222e162d8725fd1a8');
INSERT INTO "entry" VALUES(14,'(events)','terms',NULL,'0','0','0','event: {"action":"ask","target":"table-0","outcome":"done","role":"analyst","address":"127.0.0.1","request":"1f7fb3546a07f381","via":"83756407ae1f","after":{"job":"78145ca096159924"},"more":{"kind":"score","epsilon":"0.1"}}','2026-11-17T21:41:12+00:00','4346137192cecf568b0bc13f9d8804d8 analyst-0','d437d578a0d6163d964ad080142730b91f601700ed2ef14365a82e0c82710b9f');
INSERT INTO "entry" VALUES(15,'table-0','charge','78145ca096159924','1/10','3/5','0','score','2026-11-17T21:41:12+00:00','4e0bb14621c33b423e78019dc40fac32 (server)','a1b5f7ba0c5cc0ff416068185f1f894d9428c49dddf93dc4a447edce35828bf8');
INSERT INTO "entry" VALUES(16,'table-0/analyst-0','charge','78145ca096159924','1/10','3/5','0','score','2026-11-17T21:41:12+00:00','ea666098edfb8b6cce00cf28be025d52 (server)','869462504c8300cfa090c39cff1cc01cadb2a9954427844c5cd9ee129a8efbe6');
INSERT INTO "entry" VALUES(17,'table-0','reserve','73f56db6941733b0','1/4','3/5','1/4','train id3','2026-11-17T21:41:13+00:00','09e1110834c3bcbe0a79925b22c9c316 analyst-0','d286cd857b5d904613e63ed256f34b70144a62ec8e0b8bf9fc7ebffa162031a5');
INSERT INTO "entry" VALUES(18,'table-0/analyst-0','reserve','73f56db6941733b0','1/4','3/5','1/4','train id3','2026-11-17T21:41:13+00:00','d24b0a7304ddaf2d3987adbf832f7d41 analyst-0','667d2630f25f2349d192e88ce7ec8b0e016ca800b24e6b0977f810a4fb73cf1b');
INSERT INTO "entry" VALUES(19,'(events)','terms',NULL,'0','0','0','event: {"action":"ask","target":"table-0","outcome":"done","role":"analyst","address":"127.0.0.1","request":"81a847329c6ac1c9","via":"83756407ae1f","after":{"job":"73f56db6941733b0"},"more":{"kind":"train","epsilon":"0.25"}}','2026-11-17T21:41:13+00:00','b76e23ee1a1e0cd2e143952e90e371ed analyst-0','eb99b5c7b51c4a73623f7ccb6a1d861360a450c2a24952c729739b156c376722');
INSERT INTO "entry" VALUES(20,'table-0','release','73f56db6941733b0','1/4','3/5','0','train id3','2026-11-17T21:41:13+00:00','bacfa93a8dee54a8c6d645260cb70624 analyst-0','c0a68f5de989cc9aadb4a0c790c2b5152d71ab70ce274c269b041fe334e7e7af');
INSERT INTO "entry" VALUES(21,'table-0/analyst-0','release','73f56db6941733b0','1/4','3/5','0','train id3','2026-11-17T21:41:13+00:00','e9fc385e689659683b78facf4f78ba1c analyst-0','16af4480d449190e9f34280f17986d186636c83b25bc9034c7956a37642db3bd');
INSERT INTO "entry" VALUES(22,'(events)','terms',NULL,'0','0','0','event: {"action":"cancel","target":"73f56db6941733b0","outcome":"done","role":"analyst","address":"127.0.0.1","request":"a360fd874e81f11b","via":"83756407ae1f","before":{"state":"queued","table":"table-0"}}','2026-11-17T21:41:13+00:00','3f708515211c3766bdd34b3d4799d002 analyst-0','0105c3866ad37609702dd114a532acff6ed5a78f834cad18836e6fe73b2e3736');
INSERT INTO "entry" VALUES(23,'(events)','terms',NULL,'0','0','0','event: {"action":"ask","target":"table-0","outcome":"over_budget","role":"analyst","address":"127.0.0.1","request":"f110b7abbba728bd","via":"83756407ae1f"}','2026-11-17T21:41:13+00:00','7f7045e50c663f88d5070c80c07fdf72 analyst-0','21053b8d77489413498cc763ce279c208b17186a9a5b364d5a5b17296a407efd');
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
INSERT INTO "job" VALUES('e572ab14dcb61808','analyst-0','table-0',1,'train','{"columns": ["color", "round", "size"], "delta": "0.0", "epsilon": "0.5", "kind": "train", "learner": "id3", "parameters": {"bins": 16, "criterion": "max", "max_depth": 5, "mechanism": null, "min_support": null, "prune": true, "queries": "exponential"}}','01e46ceefbcb077ec7d14fc704dc38850f53d7c5ec8af0134db8e18663d29142',1455770038,'done',4,'labels in the leaves','2026-11-17T21:41:12.293+00:00','2026-11-17T21:41:12.415+00:00','2026-11-17T21:41:12.590+00:00',1,'f77882b25103',NULL,'e13568fa8007e35f',NULL,NULL,NULL,4459);
INSERT INTO "job" VALUES('78145ca096159924','analyst-0','table-0',1,'score','{"delta": "0.0", "epsilon": "0.1", "forest": "e13568fa8007e35f", "kind": "score"}','93cb5b375f948964100cd8225e543c7d2b7f990f14abbf3f1eb65bfb08eb89ea',3907465691,'done',1,'confusion matrix','2026-11-17T21:41:12.842+00:00','2026-11-17T21:41:12.930+00:00','2026-11-17T21:41:12.973+00:00',1,'f77882b25103',NULL,'89d94070d53d74ff',NULL,'e13568fa8007e35f',NULL,4287);
INSERT INTO "job" VALUES('73f56db6941733b0','analyst-0','table-0',1,'train','{"columns": ["color", "round", "size"], "delta": "0.0", "epsilon": "0.25", "kind": "train", "learner": "id3", "parameters": {"bins": 16, "criterion": "max", "max_depth": 5, "mechanism": null, "min_support": null, "prune": true, "queries": "exponential"}}','06b0a56f4d7fda8c2460f27372022f1c514538484c57efcb3068e98351a7c882',1321246864,'cancelled',0,'','2026-11-17T21:41:13.211+00:00',NULL,'2026-11-17T21:41:13.288+00:00',0,NULL,NULL,NULL,NULL,NULL,NULL,4254);
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
INSERT INTO "ledger_head" VALUES(1,23,'21053b8d77489413498cc763ce279c208b17186a9a5b364d5a5b17296a407efd');
CREATE TABLE member (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	subject TEXT, 
	created TEXT NOT NULL, 
	disabled TEXT, stored BIGINT DEFAULT 0 NOT NULL, owner TEXT, expires TEXT, 
	PRIMARY KEY (name), 
	UNIQUE (subject)
);
INSERT INTO "member" VALUES('carla','operator',NULL,'2026-11-17T21:41:10.585+00:00',NULL,0,NULL,NULL);
INSERT INTO "member" VALUES('analyst-0','analyst',NULL,'2026-11-17T21:41:11.286+00:00',NULL,13000,NULL,NULL);
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
INSERT INTO "registered_table" VALUES('table-0','A small table','{"connection": "sample", "table": "table.parquet"}','{"format": "frith-domain/1", "records": 400, "label": {"name": "good", "values": ["no", "yes"]}, "attributes": [{"name": "color", "values": ["red", "green", "blue"]}, {"name": "round", "values": ["no", "yes"], "missing": "no"}, {"name": "size", "low": 0.0, "high": 10.0, "cells": 16, "missing": true}]}',0,1,'{"epsilon": "4", "delta": "0", "analyst_epsilon": null, "request_epsilon": null, "least_epsilon": "0.001", "learners": ["forest", "random-decision", "signal", "gini", "id3", "c45", "info-gain"], "renewal_days": null, "renewal_start": null}','2026-11-17T21:41:11.201+00:00','{"color": "large_string", "round": "large_string", "size": "double", "good": "large_string"}');
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
INSERT INTO "release" VALUES('e13568fa8007e35f','e572ab14dcb61808',X'789CB555596EE33810BD0AA16FC6D1625992CF3037308C8092CA162714A9E6E2241DF8EEF3483B3D76A6A7BF922080591BABDEAB62E93D3B184BCE67DBF7789A054ED9C14A3F3D5C0C8F65C6B367A947E80713B477904FC613643709B8401E841EE5283C846DCBB3631056684F146FA5C5496534DCF3550DDF91941749CA216992C7A937168199D1C42C0DC68E4C8C238DCC58C8B339D1084FE15C98172F8D86EF2EF313B19106850A46A6C3DC9365E6708D774C3AB6845EC901912F136926D8DFA667CE0BEB1D43B96C322F0C751D99F4CC8B6772CC93524C1B3F4968456F020CD3474911A616335D82FDDB8213F20D4685593B9EB44EFEBCDA0F060CD9E471908AA2DDD2BF15F949F86B4528142919E9083869959C511222BD9C2972308303FB96CA737FA86F1F397A0657DBDD7BB604BB18979A7429CA33452752AC40FA99864968E9669847E9064B9ED85F6251622098535B612A1E8BD87C47DA492F4FD2BF65DB02F22014CCE57A95A3F3B128A8CFFC2EE7A2A44FE87F9F74B1F2846961C364E457A5BC87597E0BCCF2CF303F27FD0A989F53DEC3ACBE05667D9F53899E307952A77153244EE9D17FC314E5E7FD19DB455829342ED9EEEAA6EE56C566D3546DD7759B75C3CB2AAF561BFC7575DD756DDDF16A5DD7AB3ACFF37555755DD3B66B5E1475B16AABAA5A370DE2CAAEFE4A151EDA686621F56F96E6C5F01807FEE35D6ED73920261263405C22703F1A13B7DA49A84069A16903F10DE74881F0DECA3EA485BAFB15836563EC5D904DABF16889347E7BA863F8AF008B85FD7F59D040E91C5609FCA0BD898A33062F655EB26D1EDB336147C7EEDCB66A7313EF6DA0D4398F425C0469B1FF62BE7C7F830572C94B9EF387E2F61F2E430083BB8ED79F4C17EB415AE79F8649AAB8DB0A5EFDC76F1FE72B25BCCCCF15EDAECC37BCCC51C4AEA8D6BC2B71684A5EE42D0E5DC38BA8A81ADE460F4CD24351E150F23AFE1405DFB4FB4813091722D15B1D94C2FD780156930553728C0F70C1D76EA6B8EF23F45EEA2B3F032682AC4CDFBE59BCC627235E9F465A3CD8ACEF1E50BC3912AA9F5C581663FD876AB141D385619EFD08B82E22CBE875C1D7527B2954763EFF03EAA4701E','2c40f82c64dcb89f7d18bcb7793579144c8d256d52e1c172a173c26fde850a59','2026-11-17T21:41:12.568+00:00');
INSERT INTO "release" VALUES('89d94070d53d74ff','78145ca096159924',X'789C7D524172DB300CFC0A876735B12AC589F586FEC0A3032441161292D0109053D7E3BF1754D36B6EDA5D92BBC0EAEE65E48CBEBBFB997304F59D9F33E9F263E79F6B5FF9000306F1DDD927367843F17DE547DE9216F65CBFB4D56BDD57E79FAF55DDBEF4265E2113A4D1DEAD4FA7A7B7A669EBE3B1698E8753DB54FEB24186A4B8DBE22A143899EFE1A9B84D181476743094902ECBC0D98C3C2774192DD6E4609A70729C0D47BEE2642741648BAB12A73DEAE782C9817BE7C1894256719026B7F0A733B38B23750A1F284E3104975817321606DE4C58FEFB48490011FF5DD6DB6A5F3CBB91C31693543B2BF4E74B9F9915F37E62A68045CFE8D66D0834DA43BA807E252229960E5399626703458B6437952296C1A20D966F7B3CF9265F5F06FFB00574E7BB5FB7BCB2D856AD9C346F62BB705669A6DF661F715C20914493279231A3A2FB056B00ABA9F2B240F90D7CA9403009295D496F56A0E11142A9D22AB1DE4B22DFB58FFEF178FC058666C036','a6e390d48a97fd13622f1a84b53be631689e600730cabe7fd1ab4d9c31102f30','2026-11-17T21:41:12.964+00:00');
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
INSERT INTO "table_curator" VALUES('table-0','carla','2026-11-17T21:41:11.239+00:00');
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
INSERT INTO "table_grant" VALUES('table-0','analyst-0',NULL,NULL,'2026-11-17T21:41:11.288+00:00');
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
INSERT INTO "token" VALUES('c5129d702b93','carla','','8575277d781ebf53654834c13d9b966c2bfe96b0b488d1ed37fc3b0e092b8c81','2026-11-17T21:41:10.587+00:00','2027-02-15T21:41:10.587+00:00',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "token" VALUES('83756407ae1f','analyst-0','','9b15f5527898c1f8eb2db464cc1d60ec0f5cc72404bab0caf3b44b8613448efe','2026-11-17T21:41:11.313+00:00','2027-02-15T21:41:11.313+00:00',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE worker (
	name TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "worker" VALUES('f77882b25103','2026-11-17T21:41:10.610+00:00');
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
