-- How far refused calls have been folded into counts of a day: whole blocks, and no others may be missing (docs/decisions/0146).
alter table audit_chain add column folded_block int8 not null default 0;
