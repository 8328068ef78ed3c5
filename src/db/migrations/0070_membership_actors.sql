-- Who made a learner a member of a group, and who ended it: a key, a person, or the operator. Null where nobody is known: it
-- was before this, or the service did it by itself.
alter table membership add column joined_by text, add column left_by text;
