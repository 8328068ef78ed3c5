-- When the organisation was suspended, after it was resumed: evidence of a sitting that lasted over one says so.
alter table organisation add column past_suspensions tstzmultirange not null default '{}';
