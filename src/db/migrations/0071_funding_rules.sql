-- Where the rules are by which the provider's funding is decided: what an assessed level means for it is theirs to say.
alter table organisation add column funding_rules_url text;
