-- Why the service cancelled an import: its page says it, as that of a run of invitations does.
alter table import_run add column cancelled_because text;
update import_run set cancelled_because = 'overdue' where status = 'cancelled' and finished_at - created_at >= interval '30 days';
