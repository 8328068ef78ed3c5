-- The schema that the migrations make; written by npm run check -- --write.

create table access_key (
  contact text,
  created_at timestamp with time zone not null,
  ending_told_at timestamp with time zone,
  expires_at timestamp with time zone,
  group_ids uuid[],
  key_id text not null,
  label text,
  networks cidr[],
  organisation_id bigint not null,
  purpose text,
  replaces text,
  revoked_at timestamp with time zone,
  secret_sha256 bytea not null,
  subjects text[],
  constraint access_key_group_ids_check CHECK ((cardinality(group_ids) > 0)),
  constraint access_key_networks_check CHECK ((cardinality(networks) > 0)),
  constraint access_key_subjects_check CHECK ((cardinality(subjects) > 0)),
  constraint access_key_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint access_key_replaces_fkey FOREIGN KEY (replaces) REFERENCES access_key(key_id),
  constraint access_key_pkey PRIMARY KEY (key_id)
);
CREATE INDEX access_key_ending ON public.access_key USING btree (expires_at) WHERE ((ending_told_at IS NULL) AND (revoked_at IS NULL));
CREATE INDEX access_key_organisation ON public.access_key USING btree (organisation_id);

create table assessment (
  assessed_at bigint not null,
  assessment_id uuid not null,
  body text,
  facet smallint not null,
  first_position bigint not null,
  learner text,
  learner_id uuid not null,
  organisation_id bigint not null,
  report_sha256 text,
  source text not null,
  constraint assessment_source_check CHECK ((source = ANY (ARRAY['imported'::text, 'sitting'::text]))),
  constraint assessment_pkey PRIMARY KEY (organisation_id, assessment_id)
);
CREATE INDEX assessment_assessed ON public.assessment USING btree (organisation_id, assessed_at, assessment_id) INCLUDE (learner_id, facet);
CREATE UNIQUE INDEX assessment_first_position ON public.assessment USING btree (organisation_id, first_position);

create table assessment_change (
  actor text not null,
  assessment_id uuid not null,
  at timestamp with time zone not null,
  before text,
  kind text not null,
  organisation_id bigint not null,
  reason text not null,
  constraint assessment_change_kind_check CHECK ((kind = ANY (ARRAY['amended'::text, 'withdrawn'::text]))),
  constraint assessment_change_pkey PRIMARY KEY (organisation_id, assessment_id, at)
);

create table assessment_feed (
  assessed_at bigint not null,
  assessed_day integer not null,
  assessment_id uuid not null,
  deleted boolean not null default false,
  facet smallint not null,
  first_position bigint not null,
  group_set_id uuid not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  position bigint not null,
  token bigint not null,
  constraint assessment_feed_pkey PRIMARY KEY (organisation_id, learner_id, assessment_id) INCLUDE (assessed_at, facet, deleted)
) with (autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_scale_factor = 0.01, fillfactor = 90);
CREATE INDEX assessment_feed_day ON public.assessment_feed USING btree (organisation_id, assessed_day, "position");
CREATE INDEX assessment_feed_deleted ON public.assessment_feed USING btree (organisation_id, "position") WHERE deleted;
CREATE INDEX assessment_feed_facet ON public.assessment_feed USING btree (organisation_id, facet, "position");
CREATE INDEX assessment_feed_group_set ON public.assessment_feed USING btree (organisation_id, group_set_id, "position");
CREATE UNIQUE INDEX assessment_feed_position ON public.assessment_feed USING btree (organisation_id, "position");

create table audit (
  action text not null,
  actor text not null,
  address bytea,
  at timestamp with time zone not null,
  audit_id bigint not null default nextval('audit_number'::regclass),
  detail text,
  organisation_id bigint not null,
  request_id uuid not null,
  resource text,
  status smallint
) partition by RANGE (at);
CREATE INDEX audit_acts ON ONLY public.audit USING btree (organisation_id, at, audit_id) WHERE ((status IS NULL) AND (actor <> 'learner'::text));
CREATE INDEX audit_acts_of_actor ON ONLY public.audit USING btree (organisation_id, actor, at, audit_id) WHERE ((status IS NULL) AND (actor <> 'learner'::text));
CREATE INDEX audit_acts_of_kind ON ONLY public.audit USING btree (organisation_id, action, at, audit_id) WHERE (status IS NULL);
CREATE INDEX audit_acts_on_object ON ONLY public.audit USING btree (organisation_id, resource COLLATE "C") WHERE ((status IS NULL) AND (resource IS NOT NULL));
CREATE INDEX audit_learner_acts ON ONLY public.audit USING btree (organisation_id, at, audit_id) WHERE ((status IS NULL) AND (actor = 'learner'::text));
CREATE INDEX audit_polls ON ONLY public.audit USING btree (organisation_id, actor, audit_id) WHERE ((action = 'GET /assessments'::text) AND (status <> 304));
CREATE INDEX audit_resource ON ONLY public.audit USING btree (organisation_id, resource) WHERE ((resource IS NOT NULL) AND (status = 200));

create table audit_begun (
  at timestamp with time zone not null,
  one boolean not null default true,
  constraint audit_begun_one_check CHECK (one),
  constraint audit_begun_pkey PRIMARY KEY (one)
);

create table audit_block (
  first_at timestamp with time zone not null,
  hash bytea not null,
  ids bigint[],
  last_at timestamp with time zone not null,
  number bigint not null,
  organisation_id bigint not null,
  rows integer not null,
  sealed_at timestamp with time zone not null,
  constraint audit_block_pkey PRIMARY KEY (organisation_id, number)
);

create table audit_chain (
  blocks bigint not null default 0,
  dropped_before timestamp with time zone,
  folded_block bigint not null default 0,
  hash bytea not null default '\x'::bytea,
  organisation_id bigint not null,
  sealed_id bigint not null default 0,
  constraint audit_chain_pkey PRIMARY KEY (organisation_id)
) with (fillfactor = 50);

create table audit_hour (
  action text not null,
  actor text not null,
  calls bigint not null,
  code text not null,
  first_position bigint,
  highest_id bigint not null,
  hour timestamp with time zone not null,
  last_at timestamp with time zone not null,
  last_position bigint,
  lowest_id bigint not null,
  organisation_id bigint not null,
  pages bigint not null,
  status smallint not null,
  constraint audit_hour_pkey PRIMARY KEY (organisation_id, hour, actor, action, status, code)
) with (fillfactor = 80);
CREATE INDEX audit_hour_action ON public.audit_hour USING btree (organisation_id, action, hour);
CREATE INDEX audit_hour_actor ON public.audit_hour USING btree (organisation_id, actor, hour);
CREATE INDEX audit_hour_pages ON public.audit_hour USING btree (organisation_id, actor, hour) INCLUDE (first_position, last_position, lowest_id, highest_id) WHERE ((action = 'GET /assessments'::text) AND (status = 200));
CREATE INDEX audit_hour_refused ON public.audit_hour USING btree (organisation_id, hour) INCLUDE (actor, action, status, code, calls, last_at, lowest_id, highest_id) WHERE (status >= 400);
CREATE INDEX audit_hour_unchanged ON public.audit_hour USING btree (organisation_id, hour) WHERE (status = 304);

create table background_job (
  created_at timestamp with time zone not null,
  created_by text not null,
  finished_at timestamp with time zone,
  input jsonb not null,
  items uuid[],
  job_id uuid not null,
  kind text not null,
  organisation_id bigint not null,
  progress jsonb not null,
  started_at timestamp with time zone,
  status text not null,
  constraint background_job_kind_check CHECK ((kind = ANY (ARRAY['import_run'::text, 'invitation_run'::text, 'membership_run'::text, 'resend'::text, 'retention'::text]))),
  constraint background_job_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'running'::text, 'waiting'::text, 'cancelled'::text, 'finished'::text]))),
  constraint background_job_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint background_job_pkey PRIMARY KEY (organisation_id, job_id)
);
CREATE INDEX background_job_newest ON public.background_job USING btree (organisation_id, kind, created_at DESC, job_id DESC);
CREATE INDEX background_job_open ON public.background_job USING btree (kind, created_at) WHERE (finished_at IS NULL);

create table bank_version (
  content text not null,
  created_at timestamp with time zone not null,
  version text not null,
  constraint bank_version_pkey PRIMARY KEY (version)
);

create table credit_entry (
  actor text not null,
  amount bigint not null,
  at timestamp with time zone not null,
  balance bigint not null,
  entry_no bigint not null,
  invitation_id uuid,
  kind text not null,
  organisation_id bigint not null,
  reason text,
  constraint credit_entry_amount_check CHECK ((amount <> 0)),
  constraint credit_entry_balance_check CHECK ((balance >= 0)),
  constraint credit_entry_entry_no_check CHECK ((entry_no > 0)),
  constraint credit_entry_kind_check CHECK ((kind = ANY (ARRAY['opening'::text, 'grant'::text, 'use'::text, 'return'::text, 'correction'::text]))),
  constraint credit_entry_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint credit_entry_pkey PRIMARY KEY (organisation_id, entry_no)
);
CREATE INDEX credit_entry_added ON public.credit_entry USING btree (organisation_id, at) INCLUDE (amount) WHERE (kind <> ALL (ARRAY['use'::text, 'return'::text]));
CREATE INDEX credit_entry_at ON public.credit_entry USING btree (organisation_id, at, entry_no) INCLUDE (balance);
CREATE INDEX credit_entry_invitation ON public.credit_entry USING btree (organisation_id, invitation_id) WHERE (invitation_id IS NOT NULL);

create table data_case (
  about text,
  case_id uuid not null,
  closed_at timestamp with time zone,
  due_at timestamp with time zone not null,
  extended boolean not null default false,
  kind text not null,
  learner_id uuid,
  opened_by text not null,
  organisation_id bigint not null,
  outcome text,
  paused_ms bigint not null default 0,
  paused_since timestamp with time zone,
  received_at timestamp with time zone not null,
  constraint data_case_kind_check CHECK ((kind = ANY (ARRAY['access'::text, 'erasure'::text, 'rectification'::text, 'objection'::text, 'review'::text, 'complaint'::text]))),
  constraint data_case_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'partly'::text, 'refused'::text, 'withdrawn'::text]))),
  constraint data_case_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint data_case_pkey PRIMARY KEY (organisation_id, case_id)
);
CREATE INDEX data_case_closed ON public.data_case USING btree (organisation_id, closed_at DESC, case_id) WHERE (closed_at IS NOT NULL);
CREATE INDEX data_case_learner ON public.data_case USING btree (organisation_id, learner_id) WHERE (learner_id IS NOT NULL);
CREATE INDEX data_case_open ON public.data_case USING btree (organisation_id, due_at, case_id) WHERE (closed_at IS NULL);

create table data_case_entry (
  actor text not null,
  at timestamp with time zone not null,
  case_id uuid not null,
  entry_no integer not null,
  kind text not null,
  organisation_id bigint not null,
  text text,
  constraint data_case_entry_kind_check CHECK ((kind = ANY (ARRAY['opened'::text, 'note'::text, 'paused'::text, 'resumed'::text, 'extended'::text, 'acknowledged'::text, 'closed'::text]))),
  constraint data_case_entry_organisation_id_case_id_fkey FOREIGN KEY (organisation_id, case_id) REFERENCES data_case(organisation_id, case_id) ON DELETE CASCADE,
  constraint data_case_entry_pkey PRIMARY KEY (organisation_id, case_id, entry_no)
);

create table delivery (
  attempts integer not null default 0,
  created_at timestamp with time zone not null,
  delivery_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  finished_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  organisation_id bigint not null,
  resent_after integer not null default 0,
  status text not null default 'pending'::text,
  constraint delivery_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'dead'::text, 'cancelled'::text]))),
  constraint delivery_pkey PRIMARY KEY (organisation_id, delivery_id)
) partition by RANGE (delivery_id);
CREATE INDEX delivery_dead ON ONLY public.delivery USING btree (organisation_id, endpoint_id, created_at) WHERE (status = 'dead'::text);
CREATE INDEX delivery_due ON ONLY public.delivery USING btree (organisation_id, endpoint_id, next_attempt_at, delivery_id) WHERE (status = 'pending'::text);
CREATE INDEX delivery_listed ON ONLY public.delivery USING btree (organisation_id, endpoint_id, created_at);

create table delivery_attempt (
  at timestamp with time zone not null,
  delivery_id uuid not null,
  duration_ms integer not null,
  error text,
  number integer not null,
  organisation_id bigint not null,
  sent text,
  status_code smallint,
  constraint delivery_attempt_pkey PRIMARY KEY (organisation_id, delivery_id, number)
) partition by RANGE (delivery_id);

create table digest_cell (
  facet smallint not null,
  group_set_id uuid not null,
  n bigint not null,
  organisation_id bigint not null,
  s1 bigint not null,
  s2 bigint not null,
  constraint digest_cell_pkey PRIMARY KEY (organisation_id, group_set_id, facet)
) with (fillfactor = 50);

create table distance_total (
  counted_at timestamp with time zone not null,
  gain bigint not null,
  group_id uuid not null,
  learners bigint not null,
  levels bigint not null,
  loss bigint not null,
  organisation_id bigint not null,
  placed bigint not null,
  position bigint not null,
  squares bigint not null,
  subject text not null,
  unclear bigint not null,
  constraint distance_total_pkey PRIMARY KEY (organisation_id, group_id, subject)
);

create table endpoint_notice (
  at timestamp with time zone not null,
  endpoint_id uuid not null,
  kind text not null,
  notice_id uuid not null,
  organisation_id bigint not null,
  since timestamp with time zone,
  told_at timestamp with time zone,
  constraint endpoint_notice_kind_check CHECK ((kind = ANY (ARRAY['failing'::text, 'recovered'::text, 'disabled'::text]))),
  constraint endpoint_notice_pkey PRIMARY KEY (organisation_id, notice_id)
);
CREATE INDEX endpoint_notice_at ON public.endpoint_notice USING btree (organisation_id, at);
CREATE INDEX endpoint_notice_untold ON public.endpoint_notice USING btree (at) WHERE (told_at IS NULL);

create table event (
  emptied text,
  event_id uuid not null,
  number bigint not null default nextval('event_counter'::regclass),
  occurred_at timestamp with time zone not null,
  organisation_id bigint not null,
  payload text not null,
  type text not null,
  constraint event_emptied_check CHECK ((emptied = ANY (ARRAY['withdrawn'::text, 'erased'::text]))),
  constraint event_pkey PRIMARY KEY (organisation_id, event_id)
) partition by RANGE (event_id);
CREATE INDEX event_assessment ON ONLY public.event USING btree (organisation_id, "substring"(payload, '"assessment_id":"([0-9a-f-]{36})"'::text)) WHERE ((type = 'assessment.completed'::text) AND (emptied IS NULL));
CREATE INDEX event_learner ON ONLY public.event USING btree (organisation_id, "substring"(payload, '"learner_ref":"([^"]*)"'::text)) WHERE ((type = 'learner.groups.updated'::text) AND (emptied IS NULL));
CREATE INDEX event_occurred ON ONLY public.event USING btree (organisation_id, occurred_at);

create table evidence (
  assessment_id uuid not null,
  created_at timestamp with time zone not null,
  edition integer not null,
  input text,
  organisation_id bigint not null,
  pdf bytea storage external,
  renderer text not null,
  sha256 text not null,
  withdrawn_at timestamp with time zone,
  constraint evidence_pkey PRIMARY KEY (organisation_id, assessment_id, edition)
);
CREATE INDEX evidence_sha256 ON public.evidence USING btree (sha256);

create table feed (
  digest_n bigint not null default 0,
  digest_w1 bigint not null default 0,
  digest_w2 bigint not null default 0,
  groups_version bigint not null default 0,
  organisation_id bigint not null,
  position bigint not null,
  restored_at bigint not null default 0,
  restored_through bigint not null default 0,
  resumed_at timestamp with time zone,
  shape smallint not null,
  shape_position bigint not null default 0,
  state bigint not null default 0,
  suspended boolean not null default false,
  constraint feed_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint feed_pkey PRIMARY KEY (organisation_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50, fillfactor = 20);

create table group_set (
  group_ids uuid[] not null,
  group_set_id uuid not null,
  organisation_id bigint not null,
  constraint group_set_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint group_set_pkey PRIMARY KEY (organisation_id, group_set_id)
);

create table group_set_group (
  group_id uuid not null,
  group_set_id uuid not null,
  organisation_id bigint not null,
  constraint group_set_group_organisation_id_group_id_fkey FOREIGN KEY (organisation_id, group_id) REFERENCES learner_group(organisation_id, group_id),
  constraint group_set_group_organisation_id_group_set_id_fkey FOREIGN KEY (organisation_id, group_set_id) REFERENCES group_set(organisation_id, group_set_id),
  constraint group_set_group_pkey PRIMARY KEY (organisation_id, group_id, group_set_id)
);

create table idempotency (
  created_at timestamp with time zone not null,
  key_sha256 bytea not null,
  leased_until timestamp with time zone not null,
  organisation_id bigint not null,
  reply bytea,
  request_sha256 bytea not null,
  status smallint,
  constraint idempotency_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint idempotency_pkey PRIMARY KEY (organisation_id, key_sha256)
);
CREATE INDEX idempotency_created ON public.idempotency USING btree (created_at);

create table import_run_row (
  organisation_id bigint not null,
  record text not null,
  row_no integer not null,
  run_id uuid not null,
  constraint import_run_row_organisation_id_run_id_fkey FOREIGN KEY (organisation_id, run_id) REFERENCES background_job(organisation_id, job_id) ON DELETE CASCADE,
  constraint import_run_row_pkey PRIMARY KEY (organisation_id, run_id, row_no)
);

create table invitation (
  created_at timestamp with time zone not null,
  credit_spent boolean not null,
  expires_at timestamp with time zone not null,
  extra_time_pct smallint not null default 0,
  invitation_id uuid not null,
  learner_id uuid not null,
  mailed_at timestamp with time zone,
  organisation_id bigint not null,
  purpose text,
  reminded_at timestamp with time zone,
  retake_reason text,
  start_code boolean not null default false,
  status text not null default 'open'::text,
  subjects text[] not null,
  supervision text not null default 'Not supervised'::text,
  supervisor text,
  constraint invitation_extra_time_pct_check CHECK (((extra_time_pct >= 0) AND (extra_time_pct <= 100))),
  constraint invitation_purpose_check CHECK ((purpose = ANY (ARRAY['initial'::text, 'progress'::text, 'end'::text]))),
  constraint invitation_status_check CHECK ((status = ANY (ARRAY['open'::text, 'used'::text, 'withdrawn'::text]))),
  constraint invitation_organisation_id_learner_id_fkey FOREIGN KEY (organisation_id, learner_id) REFERENCES learner(organisation_id, learner_id),
  constraint invitation_pkey PRIMARY KEY (organisation_id, invitation_id)
);
CREATE INDEX invitation_by_status ON public.invitation USING btree (organisation_id, status, created_at DESC, invitation_id DESC) INCLUDE (learner_id, expires_at);
CREATE INDEX invitation_created ON public.invitation USING btree (organisation_id, created_at DESC, invitation_id DESC) INCLUDE (learner_id);
CREATE INDEX invitation_ending ON public.invitation USING btree (organisation_id, expires_at DESC, invitation_id DESC) INCLUDE (learner_id, created_at) WHERE (status = 'open'::text);
CREATE INDEX invitation_learner ON public.invitation USING btree (organisation_id, learner_id, created_at);

create table invitation_run_row (
  cells jsonb,
  faults jsonb,
  invitation_id uuid,
  learner_id uuid,
  organisation_id bigint not null,
  outcome text,
  ready jsonb,
  row_no integer not null,
  run_id uuid not null,
  constraint invitation_run_row_outcome_check CHECK ((outcome = ANY (ARRAY['invited'::text, 'again'::text, 'refused'::text]))),
  constraint invitation_run_row_organisation_id_run_id_fkey FOREIGN KEY (organisation_id, run_id) REFERENCES background_job(organisation_id, job_id) ON DELETE CASCADE,
  constraint invitation_run_row_pkey PRIMARY KEY (organisation_id, run_id, row_no)
);
CREATE INDEX invitation_run_row_email ON public.invitation_run_row USING btree (organisation_id, lower((cells ->> 'email'::text))) WHERE (cells IS NOT NULL);
CREATE INDEX invitation_run_row_faults ON public.invitation_run_row USING btree (organisation_id, run_id, row_no) WHERE (faults IS NOT NULL);
CREATE INDEX invitation_run_row_name ON public.invitation_run_row USING btree (organisation_id, lower((cells ->> 'full_name'::text))) WHERE (cells IS NOT NULL);
CREATE INDEX invitation_run_row_ref ON public.invitation_run_row USING btree (organisation_id, ((cells ->> 'ref'::text))) WHERE (cells IS NOT NULL);

create table key_link (
  created_at timestamp with time zone not null,
  created_by text not null,
  description jsonb not null,
  expires_at timestamp with time zone not null,
  key_id text,
  link_id uuid not null,
  organisation_id bigint not null,
  revoked_at timestamp with time zone,
  used_at timestamp with time zone,
  constraint key_link_key_id_fkey FOREIGN KEY (key_id) REFERENCES access_key(key_id) ON DELETE CASCADE,
  constraint key_link_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint key_link_pkey PRIMARY KEY (organisation_id, link_id)
);

create table key_use (
  client text not null,
  first_at timestamp with time zone not null,
  key_id text not null,
  last_at timestamp with time zone not null,
  network text not null,
  organisation_id bigint not null,
  constraint key_use_key_id_fkey FOREIGN KEY (key_id) REFERENCES access_key(key_id) ON DELETE CASCADE,
  constraint key_use_pkey PRIMARY KEY (organisation_id, key_id, network, client)
);

create table learner (
  created_at timestamp with time zone not null,
  email text,
  full_name text not null,
  learner_id uuid not null,
  merged_into uuid,
  name_key bigint,
  named_at bigint,
  near_key bigint,
  organisation_id bigint not null,
  ref text,
  ref_hash bytea,
  ref_key bigint,
  constraint learner_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint learner_pkey PRIMARY KEY (organisation_id, learner_id)
);
CREATE INDEX learner_by_email ON public.learner USING btree (organisation_id, lower(email) COLLATE "C") WHERE (email IS NOT NULL);
CREATE INDEX learner_by_name ON public.learner USING btree (organisation_id, folded_name(full_name) COLLATE "C", learner_id) INCLUDE (full_name) WHERE (full_name <> ''::text);
CREATE INDEX learner_by_ref ON public.learner USING btree (organisation_id, COALESCE(lower((ref COLLATE "C")), '~'::text), learner_id) INCLUDE (ref) WHERE (full_name <> ''::text);
CREATE INDEX learner_merged_into ON public.learner USING btree (organisation_id, merged_into) WHERE (merged_into IS NOT NULL);
CREATE INDEX learner_name_key ON public.learner USING btree (organisation_id, name_key, learner_id) WHERE (name_key IS NOT NULL);
CREATE INDEX learner_near_key ON public.learner USING btree (organisation_id, near_key, learner_id) WHERE (near_key IS NOT NULL);
CREATE UNIQUE INDEX learner_ref ON public.learner USING btree (organisation_id, ref) WHERE (ref IS NOT NULL);
CREATE INDEX learner_ref_hash ON public.learner USING btree (organisation_id, ref_hash) WHERE (ref_hash IS NOT NULL);
CREATE INDEX learner_ref_key ON public.learner USING btree (organisation_id, ref_key, learner_id) WHERE (ref_key IS NOT NULL);
CREATE INDEX learner_without_ref ON public.learner USING btree (organisation_id, learner_id) WHERE ((ref IS NULL) AND (full_name <> ''::text));
CREATE INDEX learner_words ON public.learner USING gin (name_words(organisation_id, folded_name(full_name))) WITH (fastupdate=off);

create table learner_alias (
  alias_id uuid not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  ref text,
  ref_hash bytea,
  constraint learner_alias_check CHECK ((num_nonnulls(ref, ref_hash) = 1)),
  constraint learner_alias_organisation_id_learner_id_fkey FOREIGN KEY (organisation_id, learner_id) REFERENCES learner(organisation_id, learner_id),
  constraint learner_alias_pkey PRIMARY KEY (organisation_id, alias_id)
);
CREATE INDEX learner_alias_learner ON public.learner_alias USING btree (organisation_id, learner_id);
CREATE UNIQUE INDEX learner_alias_ref ON public.learner_alias USING btree (organisation_id, ref) WHERE (ref IS NOT NULL);
CREATE INDEX learner_alias_ref_hash ON public.learner_alias USING btree (organisation_id, ref_hash) WHERE (ref_hash IS NOT NULL);

create table learner_change (
  actor text not null,
  at timestamp with time zone not null,
  field text,
  kind text not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  reason text,
  constraint learner_change_field_check CHECK ((field = 'email'::text)),
  constraint learner_change_kind_check CHECK ((kind = ANY (ARRAY['renamed'::text, 'referenced'::text, 'erased'::text, 'merged'::text]))),
  constraint learner_change_pkey PRIMARY KEY (organisation_id, learner_id, at, kind)
);
CREATE INDEX learner_change_erased ON public.learner_change USING btree (organisation_id, learner_id) WHERE (kind = 'erased'::text);

create table learner_distinct (
  actor text not null,
  at timestamp with time zone not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  other_id uuid not null,
  constraint learner_distinct_check CHECK ((learner_id < other_id)),
  constraint learner_distinct_organisation_id_learner_id_fkey FOREIGN KEY (organisation_id, learner_id) REFERENCES learner(organisation_id, learner_id),
  constraint learner_distinct_organisation_id_other_id_fkey FOREIGN KEY (organisation_id, other_id) REFERENCES learner(organisation_id, learner_id),
  constraint learner_distinct_pkey PRIMARY KEY (organisation_id, learner_id, other_id)
);
CREATE INDEX learner_distinct_other ON public.learner_distinct USING btree (organisation_id, other_id);

create table learner_feed (
  deleted boolean not null default false,
  group_set_id uuid not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  position bigint not null,
  constraint learner_feed_organisation_id_group_set_id_fkey FOREIGN KEY (organisation_id, group_set_id) REFERENCES group_set(organisation_id, group_set_id),
  constraint learner_feed_organisation_id_learner_id_fkey FOREIGN KEY (organisation_id, learner_id) REFERENCES learner(organisation_id, learner_id),
  constraint learner_feed_pkey PRIMARY KEY (organisation_id, learner_id)
) with (autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_scale_factor = 0.02, fillfactor = 90);
CREATE UNIQUE INDEX learner_feed_position ON public.learner_feed USING btree (organisation_id, "position") INCLUDE (learner_id, deleted);

create table learner_group (
  active boolean not null default true,
  created_at timestamp with time zone not null,
  group_id uuid not null,
  name text not null,
  organisation_id bigint not null,
  position bigint not null,
  ref text not null,
  type text not null,
  constraint learner_group_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint learner_group_pkey PRIMARY KEY (organisation_id, group_id),
  constraint learner_group_organisation_id_type_ref_key UNIQUE (organisation_id, type, ref)
);
CREATE UNIQUE INDEX learner_group_position ON public.learner_group USING btree (organisation_id, "position");

create table learner_leaving (
  learner_id uuid not null,
  look_at timestamp with time zone not null,
  organisation_id bigint not null,
  constraint learner_leaving_pkey PRIMARY KEY (organisation_id, learner_id)
);
CREATE INDEX learner_leaving_look_at ON public.learner_leaving USING btree (look_at);

create table legal_hold (
  ends_at timestamp with time zone,
  hold_id uuid not null,
  learner_id uuid,
  organisation_id bigint not null,
  placed_at timestamp with time zone not null,
  placed_by text not null,
  reason text not null,
  released_at timestamp with time zone,
  released_by text,
  constraint legal_hold_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint legal_hold_pkey PRIMARY KEY (organisation_id, hold_id)
);
CREATE INDEX legal_hold_open ON public.legal_hold USING btree (organisation_id, learner_id) WHERE (released_at IS NULL);

create table lineage (
  erased_through integer,
  identity text not null,
  mark text,
  nodes jsonb not null default '{}'::jsonb,
  one boolean not null default true,
  restores integer not null default 0,
  since timestamp with time zone not null,
  constraint lineage_one_check CHECK (one),
  constraint lineage_pkey PRIMARY KEY (one)
);

create table lookup (
  at timestamp with time zone not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  page text not null,
  user_id uuid not null,
  constraint lookup_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint lookup_pkey PRIMARY KEY (organisation_id, learner_id, at, user_id, page)
);
CREATE INDEX lookup_at ON public.lookup USING btree (at);

create table mail (
  attempts integer not null default 0,
  cause text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  held_by uuid,
  mail_id uuid not null,
  next_attempt_at timestamp with time zone,
  organisation_id bigint,
  sealed bytea,
  status text not null,
  constraint mail_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'sending'::text, 'sent'::text, 'refused'::text, 'expired'::text, 'unknown'::text]))),
  constraint mail_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint mail_pkey PRIMARY KEY (mail_id),
  constraint mail_cause_key UNIQUE (cause)
);
CREATE INDEX mail_due ON public.mail USING btree (next_attempt_at) WHERE (status = ANY (ARRAY['waiting'::text, 'sending'::text]));
CREATE INDEX mail_finished ON public.mail USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX mail_listed ON public.mail USING btree (organisation_id, created_at DESC, mail_id DESC) WHERE (organisation_id IS NOT NULL);

create table membership (
  group_id uuid not null,
  joined_by text,
  joined_position bigint not null,
  learner_id uuid not null,
  left_by text,
  left_position bigint,
  organisation_id bigint not null,
  constraint membership_organisation_id_group_id_fkey FOREIGN KEY (organisation_id, group_id) REFERENCES learner_group(organisation_id, group_id),
  constraint membership_organisation_id_learner_id_fkey FOREIGN KEY (organisation_id, learner_id) REFERENCES learner(organisation_id, learner_id),
  constraint membership_pkey PRIMARY KEY (organisation_id, group_id, learner_id, joined_position)
) with (autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_scale_factor = 0.02);
CREATE UNIQUE INDEX membership_active ON public.membership USING btree (organisation_id, learner_id, group_id) WHERE (left_position IS NULL);
CREATE INDEX membership_joined ON public.membership USING btree (organisation_id, group_id, joined_position);
CREATE INDEX membership_left ON public.membership USING btree (organisation_id, group_id, left_position) WHERE (left_position IS NOT NULL);
CREATE INDEX membership_members ON public.membership USING btree (organisation_id, group_id, learner_id) WHERE (left_position IS NULL);

create table migration (
  applied_at timestamp with time zone not null,
  name text not null,
  number integer not null,
  constraint migration_pkey PRIMARY KEY (number)
);

create table milestone (
  at timestamp with time zone not null,
  kind text not null,
  organisation_id bigint not null,
  constraint milestone_kind_check CHECK ((kind = ANY (ARRAY['walk'::text, 'not_modified'::text, 'webhook'::text, 'made'::text, 'received'::text]))),
  constraint milestone_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint milestone_pkey PRIMARY KEY (organisation_id, kind)
);

create table organisation (
  contact text,
  created_at timestamp with time zone not null,
  credits bigint not null default 0,
  default_subjects text[] not null default '{digital,english,maths}'::text[],
  export_sha256 text,
  exported_at timestamp with time zone,
  exported_state bigint,
  funding_rules_url text,
  group_autocreate boolean not null default true,
  name text not null,
  notices_email text,
  organisation_id bigint not null generated by default as identity,
  past_suspensions tstzmultirange not null default '{}'::tstzmultirange,
  paused_endpoints uuid[],
  pilot_items boolean not null default true,
  plan text not null,
  public_id uuid not null,
  reminder_days smallint,
  retake_gap_days smallint,
  sandbox boolean not null default false,
  sandbox_of bigint,
  second_factor_for_all boolean not null default false,
  suspended_at timestamp with time zone,
  suspended_for text,
  table_columns jsonb not null default '{}'::jsonb,
  time_zone text not null default 'Europe/London'::text,
  ukprn text,
  constraint organisation_credits_check CHECK ((credits >= 0)),
  constraint organisation_plan_check CHECK ((plan = ANY (ARRAY['standard'::text, 'education'::text, 'unlimited'::text]))),
  constraint organisation_reminder_days_check CHECK (((reminder_days >= 1) AND (reminder_days <= 60))),
  constraint organisation_retake_gap_days_check CHECK (((retake_gap_days >= 1) AND (retake_gap_days <= 3650))),
  constraint organisation_ukprn_check CHECK ((ukprn ~ '^1[0-9]{7}$'::text)),
  constraint organisation_sandbox_of_fkey FOREIGN KEY (sandbox_of) REFERENCES organisation(organisation_id),
  constraint organisation_pkey PRIMARY KEY (organisation_id),
  constraint organisation_public_id_key UNIQUE (public_id)
);
CREATE UNIQUE INDEX organisation_sandbox_of ON public.organisation USING btree (sandbox_of) WHERE (sandbox_of IS NOT NULL);

create table organisation_deletion (
  audit_end jsonb,
  began_at timestamp with time zone not null,
  certificate text,
  counts jsonb not null default '{}'::jsonb,
  ended_at timestamp with time zone,
  former_id bigint not null,
  public_id uuid not null,
  constraint organisation_deletion_pkey PRIMARY KEY (public_id)
);

create table organisation_sso (
  changed_at timestamp with time zone not null,
  client_id text not null,
  client_secret text not null,
  issuer text not null,
  organisation_id bigint not null,
  required boolean not null default false,
  tenant text,
  constraint organisation_sso_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint organisation_sso_pkey PRIMARY KEY (organisation_id)
);

create table rate_window (
  admitted_ms bigint[] storage plain not null default '{}'::bigint[],
  admitted_total bigint[] storage plain not null default '{}'::bigint[],
  gone_total bigint not null default 0,
  granted bigint not null default 0,
  key_id text not null,
  last_ms bigint not null default 0,
  organisation_id bigint not null,
  total bigint not null default 0,
  used bigint not null default 0,
  constraint rate_window_key_id_fkey FOREIGN KEY (key_id) REFERENCES access_key(key_id),
  constraint rate_window_pkey PRIMARY KEY (key_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50, fillfactor = 50);

create table refused_calls (
  address bytea not null,
  calls bigint not null,
  minute timestamp with time zone not null,
  constraint refused_calls_pkey PRIMARY KEY (minute, address)
) with (fillfactor = 50);

create table result_day (
  day integer not null,
  facet smallint not null,
  n integer not null,
  organisation_id bigint not null,
  constraint result_day_pkey PRIMARY KEY (organisation_id, day, facet)
) with (fillfactor = 50);

create table retention_policy (
  automatic boolean not null default false,
  changed_at timestamp with time zone not null,
  changed_by text not null,
  months jsonb not null,
  next_at timestamp with time zone,
  organisation_id bigint not null,
  constraint retention_policy_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id) ON DELETE CASCADE,
  constraint retention_policy_pkey PRIMARY KEY (organisation_id)
);
CREATE INDEX retention_policy_next ON public.retention_policy USING btree (next_at) WHERE automatic;

create table review (
  answer text,
  assessment_id uuid not null,
  assigned_to uuid,
  decided_at timestamp with time zone,
  decided_by text,
  due_at timestamp with time zone,
  flags text[] not null,
  learner_id uuid not null,
  opened_at timestamp with time zone not null,
  organisation_id bigint not null,
  outcome text,
  rank smallint not null default 
CASE
    WHEN ('needs_review'::text = ANY (flags)) THEN 1
    WHEN ('person_fit'::text = ANY (flags)) THEN 2
    WHEN (requested_at IS NOT NULL) THEN 3
    WHEN (flags = '{sample}'::text[]) THEN 5
    ELSE 4
END,
  request text,
  requested_at timestamp with time zone,
  review_no integer not null,
  subject text not null,
  constraint review_check CHECK ((((outcome IS NULL) = (decided_at IS NULL)) AND ((outcome IS NULL) = (decided_by IS NULL)))),
  constraint review_check1 CHECK (((requested_at IS NULL) = (due_at IS NULL))),
  constraint review_outcome_check CHECK ((outcome = ANY (ARRAY['confirmed'::text, 'changed'::text, 'withdrawn'::text]))),
  constraint review_review_no_check CHECK ((review_no > 0)),
  constraint review_pkey PRIMARY KEY (organisation_id, assessment_id, review_no)
);
CREATE INDEX review_assigned ON public.review USING btree (organisation_id, assigned_to) WHERE ((decided_at IS NULL) AND (assigned_to IS NOT NULL));
CREATE INDEX review_decided ON public.review USING btree (organisation_id, decided_at, assessment_id, review_no) WHERE (decided_at IS NOT NULL);
CREATE INDEX review_due ON public.review USING btree (organisation_id, due_at, assessment_id) WHERE ((decided_at IS NULL) AND (due_at IS NOT NULL));
CREATE INDEX review_learner ON public.review USING btree (organisation_id, learner_id);
CREATE UNIQUE INDEX review_open ON public.review USING btree (organisation_id, assessment_id) WHERE (decided_at IS NULL);
CREATE INDEX review_queue ON public.review USING btree (organisation_id, rank, subject, opened_at, assessment_id) INCLUDE (learner_id) WHERE (decided_at IS NULL);

create table sandbox_request (
  asked_at timestamp with time zone not null,
  asked_by uuid not null,
  organisation_id bigint not null,
  constraint sandbox_request_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint sandbox_request_pkey PRIMARY KEY (organisation_id)
);

create table saved_view (
  name text not null,
  organisation_id bigint not null,
  path text not null,
  query text not null,
  user_id uuid not null,
  view_id uuid not null,
  constraint saved_view_organisation_id_user_id_fkey FOREIGN KEY (organisation_id, user_id) REFERENCES user_membership(organisation_id, user_id) ON DELETE CASCADE,
  constraint saved_view_pkey PRIMARY KEY (organisation_id, user_id, view_id),
  constraint saved_view_organisation_id_user_id_path_name_key UNIQUE (organisation_id, user_id, path, name)
);

create table scheduled_report (
  day smallint not null,
  every text not null,
  hour smallint not null,
  next_at timestamp with time zone not null,
  organisation_id bigint not null,
  page text not null,
  query text not null,
  report_id uuid not null,
  user_id uuid not null,
  constraint scheduled_report_check CHECK (((day >= 1) AND (day <=
CASE every
    WHEN 'week'::text THEN 7
    ELSE 28
END))),
  constraint scheduled_report_every_check CHECK ((every = ANY (ARRAY['week'::text, 'month'::text]))),
  constraint scheduled_report_hour_check CHECK (((hour >= 0) AND (hour <= 23))),
  constraint scheduled_report_page_check CHECK ((page = ANY (ARRAY['dashboard'::text, 'distance'::text, 'gaps'::text, 'results'::text]))),
  constraint scheduled_report_organisation_id_user_id_fkey FOREIGN KEY (organisation_id, user_id) REFERENCES user_membership(organisation_id, user_id) ON DELETE CASCADE,
  constraint scheduled_report_pkey PRIMARY KEY (organisation_id, report_id),
  constraint scheduled_report_organisation_id_user_id_page_query_every_d_key UNIQUE (organisation_id, user_id, page, query, every, day)
);
CREATE INDEX scheduled_report_next ON public.scheduled_report USING btree (next_at);

create table scope_exit (
  assessed_at bigint not null,
  assessment_id uuid not null,
  facet smallint not null,
  group_id uuid not null,
  learner_id uuid not null,
  organisation_id bigint not null,
  position bigint not null,
  constraint scope_exit_pkey PRIMARY KEY (organisation_id, learner_id, assessment_id, group_id)
) with (autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_scale_factor = 0.02);
CREATE UNIQUE INDEX scope_exit_position ON public.scope_exit USING btree (organisation_id, group_id, "position");

create table service_secret (
  fingerprint text not null,
  one boolean not null default true,
  since timestamp with time zone not null,
  constraint service_secret_one_check CHECK (one),
  constraint service_secret_pkey PRIMARY KEY (one)
);

create table sign_in_attempts (
  failures integer not null,
  since timestamp with time zone not null,
  subject bytea not null,
  constraint sign_in_attempts_pkey PRIMARY KEY (subject)
);

create table sitting (
  assessment_id uuid,
  bank_version text not null,
  closed_at timestamp with time zone,
  declared_at timestamp with time zone,
  finished_at timestamp with time zone,
  invitation_id uuid not null,
  last_seen_at timestamp with time zone not null,
  learner_id uuid not null,
  on_screen_since timestamp with time zone,
  organisation_id bigint not null,
  released_at timestamp with time zone,
  released_by text,
  result text,
  retake_reason text,
  settings text not null,
  sitting_id uuid not null,
  started_at timestamp with time zone not null,
  status text not null default 'open'::text,
  stop text,
  subject text not null,
  supervision text,
  supervisor text,
  time_limit_ms bigint not null,
  used_ms bigint not null default 0,
  void_reason text,
  withheld text[] not null,
  constraint sitting_status_check CHECK ((status = ANY (ARRAY['open'::text, 'completed'::text, 'void'::text]))),
  constraint sitting_subject_check CHECK ((subject = ANY (ARRAY['digital'::text, 'english'::text, 'maths'::text]))),
  constraint sitting_bank_version_fkey FOREIGN KEY (bank_version) REFERENCES bank_version(version),
  constraint sitting_organisation_id_invitation_id_fkey FOREIGN KEY (organisation_id, invitation_id) REFERENCES invitation(organisation_id, invitation_id),
  constraint sitting_organisation_id_learner_id_fkey FOREIGN KEY (organisation_id, learner_id) REFERENCES learner(organisation_id, learner_id),
  constraint sitting_pkey PRIMARY KEY (organisation_id, sitting_id)
);
CREATE INDEX sitting_assessment ON public.sitting USING btree (organisation_id, assessment_id) WHERE (assessment_id IS NOT NULL);
CREATE INDEX sitting_idle ON public.sitting USING btree (last_seen_at) WHERE (status = 'open'::text);
CREATE INDEX sitting_invitation ON public.sitting USING btree (organisation_id, invitation_id, started_at);
CREATE INDEX sitting_learner ON public.sitting USING btree (organisation_id, learner_id);
CREATE UNIQUE INDEX sitting_open ON public.sitting USING btree (organisation_id, invitation_id, subject) WHERE (status = 'open'::text);
CREATE UNIQUE INDEX sitting_open_of_learner ON public.sitting USING btree (organisation_id, learner_id, subject) WHERE (status = 'open'::text);

create table sitting_item (
  answer text,
  answered_at timestamp with time zone,
  choice text not null,
  device text,
  item_id text not null,
  language text,
  organisation_id bigint not null,
  outcome text,
  paused_ms bigint not null default 0,
  pauses integer not null default 0,
  pilot boolean not null default false,
  position integer not null,
  rendered text not null,
  seed text not null,
  shown_at timestamp with time zone not null,
  sitting_id uuid not null,
  working_ms bigint,
  constraint sitting_item_outcome_check CHECK ((outcome = ANY (ARRAY['right'::text, 'wrong'::text, 'skipped'::text, 'not_reached'::text]))),
  constraint sitting_item_organisation_id_sitting_id_fkey FOREIGN KEY (organisation_id, sitting_id) REFERENCES sitting(organisation_id, sitting_id),
  constraint sitting_item_pkey PRIMARY KEY (organisation_id, sitting_id, "position")
);

create table start_code (
  code_mac bytea not null,
  expires_at timestamp with time zone not null,
  invitation_id uuid not null,
  organisation_id bigint not null,
  released_at timestamp with time zone not null,
  released_by uuid not null,
  tries smallint not null default 0,
  used_at timestamp with time zone,
  constraint start_code_organisation_id_invitation_id_fkey FOREIGN KEY (organisation_id, invitation_id) REFERENCES invitation(organisation_id, invitation_id) ON DELETE CASCADE,
  constraint start_code_pkey PRIMARY KEY (organisation_id, invitation_id)
);

create table team_staff (
  group_id uuid not null,
  organisation_id bigint not null,
  user_id uuid not null,
  constraint team_staff_organisation_id_group_id_fkey FOREIGN KEY (organisation_id, group_id) REFERENCES learner_group(organisation_id, group_id) ON DELETE CASCADE,
  constraint team_staff_organisation_id_user_id_fkey FOREIGN KEY (organisation_id, user_id) REFERENCES user_membership(organisation_id, user_id) ON DELETE CASCADE,
  constraint team_staff_pkey PRIMARY KEY (organisation_id, group_id, user_id)
);
CREATE INDEX team_staff_user ON public.team_staff USING btree (organisation_id, user_id);

create table user_account (
  created_at timestamp with time zone not null,
  email text not null,
  full_name text not null,
  password text,
  recovery_codes bytea[] not null default '{}'::bytea[],
  totp_secret text,
  totp_step bigint not null default 0,
  user_id uuid not null,
  constraint user_account_pkey PRIMARY KEY (user_id)
);
CREATE INDEX user_account_email ON public.user_account USING btree (email);

create table user_identity (
  created_at timestamp with time zone not null,
  issuer text not null,
  organisation_id bigint not null,
  subject text not null,
  user_id uuid not null,
  constraint user_identity_membership_fkey FOREIGN KEY (organisation_id, user_id) REFERENCES user_membership(organisation_id, user_id) ON DELETE CASCADE,
  constraint user_identity_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint user_identity_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_account(user_id),
  constraint user_identity_pkey PRIMARY KEY (organisation_id, issuer, subject)
);
CREATE INDEX user_identity_user ON public.user_identity USING btree (user_id);

create table user_invitation (
  created_at timestamp with time zone not null,
  email text not null,
  expires_at timestamp with time zone not null,
  invitation_id uuid not null,
  invited_by text not null,
  organisation_id bigint not null,
  role text not null,
  team_id uuid,
  token_sha256 bytea not null,
  constraint user_invitation_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'reviewer'::text, 'tutor'::text, 'auditor'::text]))),
  constraint user_invitation_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint user_invitation_pkey PRIMARY KEY (organisation_id, invitation_id)
);
CREATE UNIQUE INDEX user_invitation_token ON public.user_invitation USING btree (token_sha256);

create table user_membership (
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  organisation_id bigint not null,
  role text not null,
  sso_only boolean not null default false,
  user_id uuid not null,
  constraint user_membership_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'reviewer'::text, 'tutor'::text, 'auditor'::text]))),
  constraint user_membership_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint user_membership_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_account(user_id),
  constraint user_membership_pkey PRIMARY KEY (organisation_id, user_id)
);
CREATE INDEX user_membership_user ON public.user_membership USING btree (user_id);

create table user_session (
  client text not null,
  created_at timestamp with time zone not null,
  kept_form bytea,
  kept_until timestamp with time zone,
  last_seen_at timestamp with time zone not null,
  pending_totp text,
  proved_at timestamp with time zone not null,
  session_id uuid not null,
  sso_organisation_id bigint,
  stage text not null,
  token_sha256 bytea not null,
  user_id uuid not null,
  constraint user_session_stage_check CHECK ((stage = ANY (ARRAY['code'::text, 'full'::text]))),
  constraint user_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_account(user_id),
  constraint user_session_pkey PRIMARY KEY (session_id),
  constraint user_session_token_sha256_key UNIQUE (token_sha256)
);
CREATE INDEX user_session_last_seen ON public.user_session USING btree (last_seen_at);
CREATE INDEX user_session_user ON public.user_session USING btree (user_id);

create table webhook_endpoint (
  created_at timestamp with time zone not null,
  disabled_reason text,
  earlier_secrets jsonb not null default '[]'::jsonb,
  endpoint_id uuid not null,
  event_types text[] not null,
  failing_since timestamp with time zone,
  group_ids uuid[],
  leased_by uuid,
  leased_until timestamp with time zone,
  noticed_at timestamp with time zone,
  organisation_id bigint not null,
  previous_secret text,
  previous_secret_until timestamp with time zone,
  secret text not null,
  status text not null default 'active'::text,
  updated_at timestamp with time zone not null,
  url text not null,
  warned_at timestamp with time zone,
  constraint webhook_endpoint_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text]))),
  constraint webhook_endpoint_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES organisation(organisation_id),
  constraint webhook_endpoint_pkey PRIMARY KEY (organisation_id, endpoint_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);

CREATE OR REPLACE FUNCTION public.event_day(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  return ('00000000-' || lpad(to_hex(floor(extract(epoch from at) / 86400)::int4), 4, '0') || '-0000-0000-000000000000')::uuid;
end $function$
;

CREATE OR REPLACE FUNCTION public.folded_name(name text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION public.make_audit_month(month timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  name text := to_char(month at time zone 'UTC', '"audit_"YYYY_MM');
begin
  if to_regclass(name) is not null then
    return;
  end if;
  execute format(
    'create table %I (like audit including defaults including indexes, primary key (organisation_id, audit_id))',
    name);
  -- Attaching takes this lock in the end anyway: a row that is committed before it would make the attaching fail.
  lock table audit_default in access exclusive mode;
  execute format(
    'with moved as (delete from audit_default where at >= %L and at < %L returning *) insert into %I select * from moved',
    month, month + interval '1 month', name);
  execute format(
    'alter table audit attach partition %I for values from (%L) to (%L)', name, month, month + interval '1 month');
end $function$
;

CREATE OR REPLACE FUNCTION public.make_event_month(month timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  lowest text := quote_literal(event_day(month));
  beyond text := quote_literal(event_day(month + interval '1 month'));
  made record;
  name text;
begin
  for made in select * from (values
    ('event', 'event_id', ''),
    ('delivery', 'delivery_id',
      'with (autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1)'),
    ('delivery_attempt', 'delivery_id', '')) t(whole, key, options)
  loop
    name := made.whole || to_char(month at time zone 'UTC', '"_"YYYY_MM');
    continue when to_regclass(name) is not null;
    execute format(
      'create table %I (like %I including defaults including constraints including indexes) %s',
      name, made.whole, made.options);
    if made.whole = 'event' then
      execute format('create unique index %I on %I (organisation_id, number)', name || '_number', name);
    end if;
    -- Taken in the end anyway: what comes for this month meanwhile must not be left behind.
    execute format('lock table %I in access exclusive mode', made.whole || '_default');
    execute format(
      'with moved as (delete from %I where %I >= %s and %I < %s returning *) insert into %I select * from moved',
      made.whole || '_default', made.key, lowest, made.key, beyond, name);
    execute format('alter table %I attach partition %I for values from (%s) to (%s)', made.whole, name, lowest, beyond);
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION public.name_query(organisation_id bigint, folded text)
 RETURNS tsquery
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
begin
  return (select string_agg(quote_literal(organisation_id || ':' || left(word, 100)) || ':*', ' & ')::tsquery
            from (select distinct unnest(regexp_split_to_array(folded, '[\u0001-\u0020!-/:-@\[-`{-~]+')) as word) w
           where word <> '');
end $function$
;

CREATE OR REPLACE FUNCTION public.name_words(organisation_id bigint, folded text)
 RETURNS tsvector
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
declare
  words text := folded;
begin
  if folded ~ '[''-]' then
    words := folded || ' ' || regexp_replace(folded, '[''-]', '', 'g');
  end if;
  words := btrim(regexp_replace(words, '[\u0001-\u0020!-/:-@\[-`{-~]+', ' ', 'g'), ' ');
  if words = '' then
    return '';
  end if;
  if length(words) > 100 then
    words := regexp_replace(words, '([^ ]{100})[^ ]+', '\1', 'g');
  end if;
  return array_to_tsvector(
    string_to_array(organisation_id || ':' || replace(words, ' ', ' ' || organisation_id || ':'), ' '));
end $function$
;
