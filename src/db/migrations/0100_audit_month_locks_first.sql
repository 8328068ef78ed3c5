-- Making a month of the log locks the default partition before it moves rows out of it, as attaching does in the end anyway: a row that
-- was committed between the two made the attaching fail, at every try while such rows came.
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
  lock table audit_default in access exclusive mode;
  execute format('with moved as (delete from audit_default where at >= %L and at < %L returning *) insert into %I select * from moved',
    month, month + interval '1 month', name);
  execute format('alter table audit attach partition %I for values from (%L) to (%L)', name, month, month + interval '1 month');
end $$;
