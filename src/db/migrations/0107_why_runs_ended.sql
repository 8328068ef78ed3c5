-- Why the service cancelled a run of invitations: nobody else can say on its page why it ended.
alter table invitation_run add column cancelled_because text;
