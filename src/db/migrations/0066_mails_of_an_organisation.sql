-- The newest mails of an organisation.
create index mail_listed on mail (organisation_id, created_at desc, mail_id desc) where organisation_id is not null;
