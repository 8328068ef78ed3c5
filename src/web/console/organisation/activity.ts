import type { Act } from '../../../governance/activity/activity.ts';
import { actKinds, actSentences, findActs, objectOf, originOf } from '../../../governance/activity/activity.ts';
import { findGroups } from '../../../organisations/groups/groups.ts';
import { listMembers } from '../../../organisations/users/members.ts';
import type { Role } from '../../../organisations/users/roles.ts';
import { auditReaders, integrators, inviters, learnerReaders, managers } from '../../../organisations/users/roles.ts';
import { endOfDay, startOfDay } from '../../../organisations/zone.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { instant, label, shortId, typeWords } from '../kit/blocks.ts';
import { any } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { listPage } from '../kit/page.ts';
import { actorNames } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, get } from '../kit/route.ts';
import { readPage, readToken } from '../kit/paging.ts';
import { plain, wideOnly } from '../kit/table.ts';

/** What people, the operator and the service did, as sentences. */
export const activityRoutes: ConsoleRoute[] = [
  get('/activity', auditReaders, activity, { menu: 'Activity', section: 'organisation' }),
];

const dayMs = 86_400_000;

/** The page of each kind of object, and the roles that may open it. */
const pagesOf: Record<string, [path: string, readonly Role[]]> = {
  learner: ['learners', learnerReaders],
  invitation: ['invitations', learnerReaders],
  'table of invitations': ['invite', inviters],
  result: ['results', learnerReaders],
  import: ['results/import', managers],
  group: ['groups', learnerReaders],
  team: ['teams', learnerReaders],
  person: ['people', managers],
  key: ['keys', integrators],
  'webhook endpoint': ['webhooks', integrators],
  delivery: ['deliveries', integrators],
  'data subject request': ['data-protection/cases', auditReaders],
  retention: ['data-protection/retention/runs', auditReaders],
};

const others = { operator: 'The operator', service: 'The service', learner: 'A learner' };

/** Names people, keys, groups and teams, and nothing else. */
async function namesFor(visit: Visit, rows: readonly Act[]) {
  const ids = rows.map((row) => objectOf(row).id).filter((id) => id !== null && isUuid(id));
  const [by, groups] = await Promise.all([
    actorNames(visit),
    findGroups(visit.app.db, visit.organisationId, ids as string[]),
  ]);
  const ofGroups = new Map(groups.map((one) => [one.group_id, one.name]));
  return (id: string): string | null => ofGroups.get(id) ?? (by(id) === id ? null : by(id));
}

/** @param named names an ID */
function sentenceOf({ base, role }: Visit, act: Act, named: (id: string) => string | null): Content {
  const { kind, sentence } = actSentences.get(act.action) ?? { kind: '', sentence: `did: ${act.action}` };
  const { id } = objectOf(act);
  const [path, readers] = pagesOf[kind] ?? ['', []];
  const [before, after] = sentence.split('{}');
  // The page of an erased learner is no longer there, and a set-up link has no page.
  const isOpen = readers.includes(role) && !/^(erased|deleted)|link/.test(sentence);
  const wordsOf = (one: string) => (named(one) === null ? shortId(one) : name(named(one)!));
  // A copy button must not be inside a link.
  const linked = (one: string) => (named(one) === null ? html`<code>${one.slice(0, 8)}</code>` : name(named(one)!));
  const object = id !== null && (isOpen ? html`<a href="${base}/${path}/${id}">${linked(id)}</a>` : wordsOf(id));
  const who = others[act.actor as keyof typeof others] ?? wordsOf(act.actor);
  return html`<strong>${who}</strong> ${before}${after !== undefined && object}${after}`;
}

function resultOf(act: Act): Content {
  const { result } = objectOf(act);
  const isStarted = /^started the (?!sitting)/.test(actSentences.get(act.action)?.sentence ?? '');
  return html`${isStarted ? label('info', 'Started') : label('good', 'Done')} ${result}`;
}

async function activity(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const now = app.clock.nowMs();
  const text = (field: string) => (query.get(field) ?? '') || null;
  const filter = {
    actor: text('person'),
    kind: text('kind'),
    object: text('object'),
    from: startOfDay(query.get('from') ?? '', zone) ?? new Date(now - 90 * dayMs),
    to: endOfDay(query.get('to') ?? '', zone) ?? new Date(now + dayMs),
  };
  const [ms, auditId] = readToken(query.get('after'), 'ms', 'int8') ?? [];
  const after = auditId === undefined ? null : { at: new Date(Number(ms)), id: Number(auditId) };
  const [{ rows, last }, members] = await Promise.all([
    readPage((limit) => findActs(app.db, id, filter, after, limit)),
    listMembers(app.db, id),
  ]);
  const named = await namesFor(visit, rows);
  const people = Object.fromEntries(members.map((one) => [one.user_id, one.full_name]));
  return listPage<Act>(visit, {
    title: 'Activity',
    says: 'What people, the operator and the service did. For sittings, choose “A learner” as the person. An object’s page shows its ID.',
    filters: (q) => [
      q.select('person', 'Person', any({ ...people, ...others })),
      q.select('kind', 'Kind of object', any(Object.fromEntries(actKinds.map((kind) => [kind, typeWords(kind)])))),
      q.text('object', 'Object ID', { width: 20, isId: true }),
      q.text('from', 'From', { type: 'date' }),
      q.text('to', 'To', { type: 'date' }),
    ],
    caption: 'Actions that changed or read data, newest first',
    none: 'No action matches. Change the filter.',
    rows,
    columns: {
      Time: (one) => html`<a href="${base}/log/${one.audit_id}">${instant(one.at, zone)}</a>`,
      Action: { phone: 'sentence', cell: (one) => sentenceOf(visit, one, named) },
      From: plain(originOf),
      Result: wideOnly(resultOf),
    },
    next: last && `${last.at.getTime()}.${last.audit_id}`,
  });
}
