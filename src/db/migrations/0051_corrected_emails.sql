-- What of a learner was corrected where it is not the name: the e-mail address, whose change the history tells without it.
alter table learner_change add column field text check (field = 'email');
