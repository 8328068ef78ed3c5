-- Windows of keys that the version before makes while both run are left as they are: they show no last use, and are filled
-- before anything is distributed.
update rate_window w set organisation_id = k.organisation_id from access_key k where k.key_id = w.key_id and w.organisation_id is null;
