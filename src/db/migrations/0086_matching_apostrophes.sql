-- Names with an apostrophe, or with letters that have no decomposition, have other keys of matching from this version on
-- (docs/decisions/0124): housekeeping makes them anew. Where the version before still runs and comes first, a name keeps its
-- older key until it is next stored, as every name did.
update learner set name_key = null, near_key = null
 where full_name <> '' and name_key is not null
   and full_name ~ '[''‘’ʻʼ′`´＇ŁłØøĐđÐðĦħİıŊŋŦŧÆæŒœÞþßẞ]';
