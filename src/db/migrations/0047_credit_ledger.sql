-- Every change of an organisation's credits, numbered without gaps; the sum of the amounts is the balance. What a version
-- from before this one still spends comes as one entry before the next change (src/organisations/credits.ts).
create table credit_entry (
  organisation_id int8 not null references organisation on delete cascade,
  entry_no        int8 not null check (entry_no > 0),
  at              timestamptz not null,
  kind            text not null check (kind in ('opening', 'grant', 'use', 'return', 'correction')),
  amount          int8 not null check (amount <> 0),
  balance         int8 not null check (balance >= 0),
  actor           text not null,
  invitation_id   uuid,
  reason          text,
  primary key (organisation_id, entry_no)
);
alter table credit_entry alter column organisation_id set (n_distinct = 1);

insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor, invitation_id, reason)
select organisation_id, 1, created_at, 'opening', credits, credits, 'service', null, null from organisation where credits > 0;

-- The newest invitations of an organisation.
create index invitation_created on invitation (organisation_id, created_at desc, invitation_id desc);
