-- A name as it is looked for and ordered by: small letters without marks, and letters of other alphabets by their Latin
-- likes (docs/decisions/0078-learners-are-found-by-parts-of-their-names.md). Indexes hold what these functions return, so
-- it depends on no collation and on no version of an operating system's tables. They name nothing outside pg_catalog.
create function folded_name(name text) returns text language plpgsql immutable strict parallel safe as $$
declare
  plain text := name;
begin
  if octet_length(name) > length(name) then
    plain := regexp_replace(normalize(name, NFKD), '[\u00ad\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]', '', 'g');
    plain := translate(plain, 'ŁłØøĐđÐðĦħıŊŋŦŧ’‘ʼʻ′“”–—−·', 'llooddddhhinntt''''''''''      ');
    plain := regexp_replace(plain, '[Ææ]', 'ae', 'g');
    plain := regexp_replace(plain, '[Œœ]', 'oe', 'g');
    plain := regexp_replace(plain, '[Þþ]', 'th', 'g');
    plain := regexp_replace(plain, '[ßẞ]', 'ss', 'g');
    plain := translate(plain, 'АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІҐЂЈЉЊЋЏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩς',
                              'абвгдежзиклмнопрстуфхцчшщъыьэюяєіґђјљњћџαβγδεζηθικλμνξοπρστυφχψωσ');
  end if;
  return left(lower(plain collate "C"), 400);
end $$;

-- Every word of a folded name, with the organisation before it, so that a search reads one organisation's words only.
-- Parts of O'Brien and Smith-Jones are words, and so is each of them written as one.
create function name_words(organisation_id int8, folded text) returns tsvector language plpgsql immutable strict parallel safe as $$
begin
  return array_to_tsvector(array(
    select distinct organisation_id || ':' || left(word, 100)
      from (select unnest(regexp_split_to_array(folded, '[\u0001-\u0020!-/:-@\[-`{-~]+')) as word
            union all
            select unnest(regexp_split_to_array(regexp_replace(folded, '[''-]', '', 'g'), '[\u0001-\u0020!-/:-@\[-`{-~]+'))) w
     where word <> ''));
end $$;

-- What is typed, as a query: every word of it begins a word of the name. Null where it has none.
create function name_query(organisation_id int8, folded text) returns tsquery language plpgsql immutable strict parallel safe as $$
begin
  return (select string_agg(quote_literal(organisation_id || ':' || left(word, 100)) || ':*', ' & ')::tsquery
            from (select distinct unnest(regexp_split_to_array(folded, '[\u0001-\u0020!-/:-@\[-`{-~]+')) as word) w
           where word <> '');
end $$;

create index learner_words on learner using gin (name_words(organisation_id, folded_name(full_name))) with (fastupdate = off);
create index learner_by_name on learner (organisation_id, (folded_name(full_name) collate "C"), learner_id) where full_name <> '';
-- Whoever has no reference comes last: no reference holds a tilde.
create index learner_by_ref on learner (organisation_id, (coalesce(lower(ref collate "C"), '~')), learner_id) where full_name <> '';

-- Learners by what became of their invitations.
create index invitation_status on invitation (organisation_id, status, learner_id);
