-- How learners reach their provider, in the provider's words: shown on the pages of a sitting.
alter table organisation add column contact text;
