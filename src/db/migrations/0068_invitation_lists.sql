-- Lists of invitations by state: by when they were made, and where their end decides, by that. What the version before used
-- the two older indexes for, these serve as well.
create index invitation_by_status on invitation (organisation_id, status, created_at desc, invitation_id desc) include (learner_id, expires_at);
create index invitation_ending on invitation (organisation_id, expires_at desc, invitation_id desc) where status = 'open';
drop index invitation_status;
drop index invitation_open;
