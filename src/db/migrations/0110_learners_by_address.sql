-- concurrently
-- Whom the addresses of a pasted table may mean: 5,000 of them in an organisation of 100,000 learners took ten seconds.
drop index concurrently if exists learner_by_email;

create index concurrently learner_by_email on learner (organisation_id, lower(email) collate "C") where email is not null;
