-- In which state the feed was when an export began: moved since, there is something that the export does not have.
alter table organisation add column exported_state int8;
