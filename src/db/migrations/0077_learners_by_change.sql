-- concurrently
-- A walk over learners in the order of their changes looks them up among the members of a group: the index says who stands
-- where by itself. The table and its unique key are as they were, so the version before goes on with them.

drop index concurrently if exists learner_feed_covering;

create unique index concurrently learner_feed_covering on learner_feed (organisation_id, position) include (learner_id, deleted);

drop index concurrently if exists learner_feed_position;

alter index learner_feed_covering rename to learner_feed_position;
