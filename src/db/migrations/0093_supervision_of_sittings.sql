-- How an invitation said that its sittings are supervised, and why it was made, when this one began: given again, it may say
-- otherwise of those to come. Null in sittings that are over, and those that a release from before this one began.
alter table sitting add column supervision text, add column supervisor text, add column retake_reason text;
