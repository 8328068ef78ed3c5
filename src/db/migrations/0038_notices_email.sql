-- Where an organisation is told of what goes wrong, beside its owners and admins; null: nowhere else.
alter table organisation add column notices_email text;
