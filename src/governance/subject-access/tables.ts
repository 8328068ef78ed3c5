import { eventsAbout } from '../../feed/events/about.ts';
import { deliveryIdOf } from '../../feed/events/emit.ts';
import { idsOf, refsOf } from '../../organisations/learner-ref.ts';

/**
 * Every table with rows about a learner, for the learner's export (UK GDPR, articles 15 and 20). A test compares this
 * list with the schema.
 */
type LearnerTable = {
  /** The condition on a row `t`: $1 is the organisation, $2 the learner. */
  whose: string;
  says: string;
  order: string;
  omits?: Record<string, string>;
};

const ofLearner = 't.learner_id = $2';
/** Learners who were merged into this learner are the same person. */
const ofPerson = `t.learner_id in (${idsOf('$2')})`;
const results = 'select f.assessment_id from assessment_feed f where f.organisation_id = $1 and f.learner_id = $2';
const ofResults = `t.assessment_id in (${results})`;
const invitations = 'select i.invitation_id from invitation i where i.organisation_id = $1 and i.learner_id = $2';
const resultIds = results.replace('f.assessment_id', 'f.assessment_id::text');
const events = `
  ${eventsAbout('result', `= any(array(${resultIds}))`)}
  union all ${eventsAbout('learner', `= any(array(${refsOf('$2')}))`)}`;
const deliveries = `t.delivery_id = any(array(
  select ${deliveryIdOf('e.event_id', 'w.endpoint_id')} from (${events}) e cross join webhook_endpoint w where w.organisation_id = $1))`;

const positionOnly = 'the position of the row in the order of changes, without data about the person';

export const learnerTables: Record<string, LearnerTable> = {
  learner: {
    whose: ofPerson,
    order: 't.learner_id',
    says: 'Your details: name, reference, email address and first day.',
    omits: {
      ref_hash: 'empty until a learner is erased',
      name_key: 'a number made of the name',
      near_key: 'a number made of the name',
      ref_key: 'a number made of the reference',
    },
  },
  learner_alias: {
    whose: ofLearner,
    order: 't.ref',
    says: 'Your previous references, which still find you.',
    omits: { ref_hash: 'empty until a learner is erased', alias_id: positionOnly },
  },
  learner_change: {
    whose: ofPerson,
    order: 't.at',
    says: 'Changes of your name, email address, reference or record: time, person and reason.',
  },
  membership: {
    whose: ofPerson,
    order: 't.joined_position',
    says: 'Your groups, with the first and last day in each.',
  },
  learner_group: {
    whose: `t.group_id in (select m.group_id from membership m where m.organisation_id = $1 and m.learner_id in (${idsOf('$2')}))`,
    order: 't.type, t.ref',
    says: 'The names of those groups.',
    omits: { position: positionOnly },
  },
  review: {
    whose: ofLearner,
    order: 't.opened_at, t.assessment_id, t.review_no',
    says: 'Human reviews of your results: the reason, your request, the decision and the answer to you.',
    omits: { rank: 'the position of the row in the list of reviewers, without data about the person' },
  },
  invitation: {
    whose: ofLearner,
    order: 't.created_at, t.invitation_id',
    says: 'Invitations to an assessment: subjects, dates, extra time, supervision.',
  },
  start_code: {
    whose: `t.invitation_id in (${invitations})`,
    order: 't.released_at',
    says: 'Start codes that a supervisor released for your sittings, with the times of release and use.',
    omits: { code_mac: 'a keyed hash that identifies a code' },
  },
  import_run_row: {
    whose: `t.record::jsonb #>> '{learner,ref}' = any(array(${refsOf('$2')}))`,
    order: 't.run_id, t.row_no',
    says: 'Your results that your training provider is about to import.',
  },
  invitation_run_row: {
    whose: `(t.learner_id in (${idsOf('$2')}) or t.cells ->> 'ref' = any(array(${refsOf('$2')})))`,
    order: 't.run_id, t.row_no',
    says: 'Rows about you in tables of invitations.',
  },
  credit_entry: {
    whose: `t.invitation_id in (${invitations})`,
    order: 't.entry_no',
    says: 'The credits that your invitations cost.',
    omits: { balance: 'data of the training provider, not of the person' },
  },
  sitting: {
    whose: ofLearner,
    order: 't.started_at, t.sitting_id',
    says: 'Your sittings: start, end, working time, and how the result was computed.',
  },
  sitting_item: {
    whose: 't.sitting_id in (select s.sitting_id from sitting s where s.organisation_id = $1 and s.learner_id = $2)',
    order: 't.sitting_id, t.position',
    says: 'Every question that you saw, your answer, whether it was right, and your time.',
  },
  assessment: {
    whose: ofResults,
    order: 't.assessed_at, t.assessment_id',
    says: 'Your results: subject, level, probability of each level, strengths and gaps.',
    omits: { facet: 'a number made from subject and level, to find results' },
  },
  assessment_feed: {
    whose: ofLearner,
    order: 't.position',
    says: 'The state of each result, completed or withdrawn, and its last change.',
    omits: { token: positionOnly, group_set_id: positionOnly, facet: positionOnly, assessed_day: positionOnly },
  },
  assessment_change: {
    whose: ofResults,
    order: 't.at',
    says: 'Changes of your results: time, person, reason, and the values before.',
  },
  evidence: {
    whose: ofResults,
    order: 't.assessment_id, t.edition',
    says: 'The contents of each evidence pack. The PDF files are in the folder evidence.',
    omits: { pdf: 'a separate file' },
  },
  event: {
    whose: `t.event_id in (${events})`,
    order: 't.number',
    says: 'Events about you for your training provider’s other systems, in full.',
  },
  delivery: {
    whose: deliveries,
    order: 't.created_at, t.delivery_id',
    says: 'The systems that got those events.',
  },
  delivery_attempt: {
    whose: deliveries,
    order: 't.delivery_id, t.number',
    says: 'When each event was sent, and whether the system accepted it.',
    omits: { sent: 'the signatures of the sender' },
  },
  data_case: {
    whose: ofLearner,
    order: 't.received_at',
    says: 'Your requests and complaints about your data, and the outcome of each.',
  },
  data_case_entry: {
    whose: 't.case_id in (select c.case_id from data_case c where c.organisation_id = $1 and c.learner_id = $2)',
    order: 't.case_id, t.entry_no',
    says: 'The steps of each request or complaint.',
  },
  lookup: {
    whose: ofLearner,
    order: 't.at',
    says: 'When a person at your training provider opened a page about you, with the person’s ID.',
  },
  legal_hold: {
    whose: ofLearner,
    order: 't.placed_at',
    says: 'Periods in which your data must not be deleted, because of a claim or an inquiry.',
    omits: { reason: 'the claim can be privileged: ask the training provider' },
  },
  audit: {
    whose: `t.status = 200 and t.resource = any(array(
      select i.id::text from (${idsOf('$2')}) i(id) union all ${resultIds}
      union all ${invitations.replace('i.invitation_id', 'i.invitation_id::text')}))`,
    order: 't.audit_id',
    says: 'When another system of your training provider read your record or one of your results.',
    omits: { address: 'only for refused requests' },
  },
};
