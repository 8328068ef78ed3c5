-- Since when it was written to people what the service itself has noticed: notices of endpoints, and keys that end soon.
alter table endpoint_notice add column told_at timestamptz;
create index endpoint_notice_untold on endpoint_notice (at) where told_at is null;
alter table access_key add column ending_told_at timestamptz;
create index access_key_ending on access_key (expires_at) where ending_told_at is null and revoked_at is null;
