-- What the request log and the tracer ask of the hours, by index. Only the sealer writes them, beside all requests: making
-- these holds nobody else up, and it tries again a minute later.
create index audit_hour_actor on audit_hour (organisation_id, actor, hour);
create index audit_hour_action on audit_hour (organisation_id, action, hour);
create index audit_hour_unchanged on audit_hour (organisation_id, hour) where status = 304;
create index audit_hour_refused on audit_hour (organisation_id, hour)
  include (actor, action, status, code, calls, last_at, lowest_id, highest_id) where status >= 400;
create index audit_hour_pages on audit_hour (organisation_id, actor, hour)
  include (first_position, last_position, lowest_id, highest_id) where action = 'GET /assessments' and status = 200;

-- The indexes of a partition beside its key. A poll that finds nothing new gets into none of them.
create function audit_indexes(partition text) returns table (name text, definition text) immutable language plpgsql as $$
begin
  return query select partition || '_organisation_id_resource_idx',
    format('on %I (organisation_id, resource) where resource is not null and status = 200', partition);
  return query select partition || '_polls',
    format('on %I (organisation_id, actor, audit_id) where action = ''GET /assessments'' and status <> 304', partition);
end $$;

-- Those that are missing, or broken off in the making.
create function audit_indexes_missing() returns table (partition text, name text, definition text, broken bool) stable language plpgsql as $$
begin
  return query
    select c.relname::text, i.name, i.definition, x.indexrelid is not null
      from pg_inherits h join pg_class c on c.oid = h.inhrelid
      cross join lateral audit_indexes(c.relname::text) i
      left join pg_class n on n.relname = i.name and n.relnamespace = c.relnamespace
      left join pg_index x on x.indexrelid = n.oid
     where h.inhparent = 'audit'::regclass and coalesce(x.indisvalid, false) = false order by c.relname, i.name;
end $$;

create or replace function make_audit_month(month timestamptz) returns void language plpgsql set timezone = 'UTC' as $$
declare
  name text := to_char(month at time zone 'UTC', '"audit_"YYYY_MM');
  made record;
begin
  if to_regclass(name) is not null then
    return;
  end if;
  execute format('create table %I (like audit including defaults, primary key (organisation_id, audit_id))', name);
  for made in select * from audit_indexes(name) loop
    execute format('create index %I %s', made.name, made.definition);
  end loop;
  execute format('with moved as (delete from audit_default where at >= %L and at < %L returning *) insert into %I select * from moved',
    month, month + interval '1 month', name);
  execute format('alter table audit attach partition %I for values from (%L) to (%L)', name, month, month + interval '1 month');
end $$;

-- Small partitions get theirs here, in a moment. The others get them beside all writers, from housekeeping.
do $$
declare
  made record;
begin
  for made in select * from audit_indexes_missing() loop
    if pg_relation_size(to_regclass(made.partition)) < 16 * 1024 * 1024 then
      execute format('create index %I %s', made.name, made.definition);
    end if;
  end loop;
end $$;
