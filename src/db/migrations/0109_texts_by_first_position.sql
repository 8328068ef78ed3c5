-- concurrently
drop index concurrently if exists assessment_first_position;

create unique index concurrently assessment_first_position on assessment (organisation_id, first_position) where first_position is not null;
