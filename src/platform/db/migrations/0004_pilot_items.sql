-- Questions on trial, and coarse classes of the browser with which a question was answered.
alter table sitting_item add column pilot boolean not null default false, add column device text, add column language text;
alter table organisation add column pilot_items boolean not null default true;
