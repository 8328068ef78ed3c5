-- What a feed by an erased learner's reference is found by: a keyed hash of it. The reference itself is gone.
alter table learner add column ref_hash bytea;
create index learner_ref_hash on learner (organisation_id, ref_hash) where ref_hash is not null;
