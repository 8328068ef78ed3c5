-- Somebody's sign-in at an organisation's provider goes with their membership. One that was connected while its person was
-- being removed stayed behind, and kept their account from being removed later.
lock table user_membership, user_identity in share row exclusive mode;
delete from user_identity i where not exists (
  select from user_membership m where m.organisation_id = i.organisation_id and m.user_id = i.user_id);
alter table user_identity add constraint user_identity_membership_fkey
  foreign key (organisation_id, user_id) references user_membership on delete cascade;
