import { gunzipSync, gzipSync } from 'node:zlib';
import { request } from 'undici';
import type { Tx } from '../../../src/platform/db/database.ts';
import type { Role } from '../../../src/organisations/users/roles.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';

/** Queries that people send, by the path of the page. `{name}` is drawn. Each page is opened without a query, too. */
export const queries: Record<string, string[]> = {
  '': ['subject=maths'],
  '/learners': [
    'sort=-name',
    'sort=ref',
    'sort=-changed',
    'after={learner_id}',
    'before={learner_id}',
    'after={learner_id}&sort=-changed',
    'group={group_id}',
    'group={large_id}&sort=-changed',
    'group={group_id}&placement=below_level_1&subject=digital',
    'team={team_id}',
    'subject=maths',
    'subject=english&placement=level_3&after={learner_id}',
    'placement=not_placed',
    'state=invited',
    'state=none&sort=-name',
    'state=expired&placement=entry',
  ],
  '/invitations': [
    'state=sent',
    'state=unopened',
    'state=opened',
    'state=used',
    'state=expired',
    'state=cancelled',
    'state=ending',
    'state=unopened&group={group_id}',
    'state=opened&group={large_id}',
  ],
  '/follow-up': ['group={group_id}', 'group={large_id}', 'team={team_id}', 'team={team_id}&group={group_id}'],
  '/results': [
    'sort=learner',
    'sort=-learner',
    'sort=-placement',
    'sort=changed',
    'sort=flags',
    'group={group_id}',
    'group={group_id}&sort=learner',
    'group={group_id}&below=yes&latest=yes',
    'group={large_id}&sort=-placement&latest=yes',
    'subject=digital&below=yes&latest=yes',
    'flag=review',
    'source=sitting',
    'team={team_id}',
    'from={day}&to={day}&sort=learner',
    'changed={day}&subject=maths',
  ],
  '/results/lists/digital-below-level-1': ['group={group_id}', 'group={large_id}', 'start={day}'],
  '/results/lists/english-maths-below-level-2': ['group={group_id}', 'group={large_id}'],
  '/results/spread': [
    'type=cohort',
    'type=campus&subject=maths',
    'type=course',
    'group={group_id}',
    'group={large_id}',
  ],
  '/results/progress': [
    'type=class&subject=maths',
    'type=cohort&subject=english',
    'type=campus',
    'group={group_id}',
    'group={group_id}&subject=maths',
    'group={large_id}&subject=maths',
    'team={team_id}',
  ],
  '/results/gaps': ['group={group_id}', 'group={group_id}&subject=maths&from=50', 'group={large_id}', 'team={team_id}'],
  '/review': [
    'why=borderline',
    'why=needs_review',
    'subject=maths',
    'group={group_id}',
    'team={team_id}',
    'state=asked',
    'state=decided',
    'state=assigned',
  ],
  '/matching': ['kind=name', 'kind=reference', 'after={learner_id}'],
  '/groups': ['type=class', 'type=cohort', 'active=no', 'after={group_id}', 'type=class&active=yes'],
  '/groups/{group_id}': ['after={learner_id}'],
  '/teams': ['active=yes', 'after={team_id}'],
  '/deliveries': [
    'status=dead',
    'status=succeeded',
    'type=assessment.completed&status=succeeded',
    'type=learner.groups.updated',
    'endpoint={endpoint_id}&status=pending',
    'from={week}&to={week}',
  ],
  '/log': ['key={key_id}', 'status=4xx', 'status=5xx', 'key={key_id}&status=5xx', 'day={week}', 'code=invalid_cursor'],
  '/log/errors': ['key={key_id}'],
  '/trace': ['assessment_id={assessment_id}', 'assessment_id={group_id}'],
  '/credits': ['before=20000'],
  '/activity': [
    'person={user_id}',
    'person=learner',
    'person=operator',
    'kind=learner',
    'kind=key',
    'kind=retention',
    'object={learner_id}',
    'object={assessment_id}',
    'from={week}&to={week}',
    'person={user_id}&kind=group',
  ],
  '/results/report': ['group={class_id}', 'group={large_id}'],
  '/results/export': ['group={group_id}'],
  '/results/gaps/export': ['group={group_id}'],
  '/results/progress/export': ['group={group_id}'],
  '/results/lists/ilr': ['group={group_id}'],
  '/views/save': ['list=/results&view=subject%3Dmaths'],
};

/** Paths with an ID of another kind of record. */
const others = [
  '/groups/{large_id}',
  '/groups/{large_id}/history',
  '/groups/{large_id}/move-all',
  '/review/{sat_id}',
  '/review/{sat_id}/questions/{position}',
  '/results/{sat_id}',
  '/learners/{sat_learner_id}',
];

/** Pages that are not opened: they need an identity provider, a sandbox, or a sitting (see `others`). */
const closed = ['/sso/off', '/sandbox/reset', '/test-result', '/review/{assessment_id}/questions/{position}'];

/** Pages of a person, and of anyone, which do not depend on an organisation. */
const ofPerson = ['/organisations', '/account', '/account/password', '/account/second-factor', '/confirm', '/sign-in'];

/** Forms that read much: names of all learners, of every fifth, of one, a reference, and a name that no learner has. */
const texts = ['l', 'a', 'learner', 'ana', 'learner ana 19', 'LRN-00000017', 'zzz'];
const sent: [path: string, fields: Record<string, string>][] = [
  ...texts.map((reference): [string, Record<string, string>] => ['/search', { reference }]),
  ['/search', { reference: 'class 12' }],
  ...texts.map((wanted): [string, Record<string, string>] => ['/learners', { wanted }]),
  ['/learners?sort=-changed', { wanted: 'ana' }],
  ['/learners?sort=-ref', { wanted: 'lrn-0' }],
  ['/learners?state=invited', { wanted: 'a' }],
  ['/learners?group={group_id}', { wanted: 'learner' }],
  ['/learners?group={large_id}&sort=ref', { wanted: 'a' }],
  ['/learners?team={team_id}', { wanted: 'l' }],
  ['/learners?subject=maths&placement=level_1', { wanted: 'ana' }],
];

const learnerIds = 'select learner_id as id from learner where organisation_id = $1';
const groupIds = 'select group_id as id from learner_group where organisation_id = $1';
const jobIds = 'select job_id as id from background_job where organisation_id = $1';
const drawn: Record<string, string> = {
  learner_id: `${learnerIds} and full_name <> '' order by learner_id limit 40`,
  other_id: `${learnerIds} and full_name <> '' order by learner_id offset 40 limit 40`,
  erase_id: `${learnerIds} and full_name <> '' order by learner_id desc limit 1`,
  erased_id: `select learner_id as id from learner_change where organisation_id = $1 and kind = 'erased' limit 1`,
  assessment_id: 'select assessment_id as id from review where organisation_id = $1 order by assessment_id limit 40',
  sat_id: `select assessment_id as id from sitting where organisation_id = $1 and assessment_id is not null limit 40`,
  sat_learner_id: `select learner_id as id from sitting where organisation_id = $1 and assessment_id is not null limit 40`,
  position: 'select 1 as id where $1 > 0',
  invitation_id: `select invitation_id as id from invitation
    where organisation_id = $1 and status = 'open' order by expires_at desc, invitation_id limit 40`,
  group_id: `${groupIds} and type = 'cohort' order by ref limit 40`,
  large_id: `${groupIds} and type = 'course' order by ref limit 10`,
  class_id: `${groupIds} and type = 'class' order by ref limit 10`,
  team_id: `${groupIds} and type = 'team' order by ref limit 20`,
  key_id: 'select key_id as id from access_key where organisation_id = $1 order by key_id limit 40',
  user_id: 'select user_id as id from user_membership where organisation_id = $1 order by created_at limit 40',
  endpoint_id: 'select endpoint_id as id from webhook_endpoint where organisation_id = $1',
  delivery_id: 'select delivery_id as id from delivery where organisation_id = $1 order by created_at desc limit 40',
  call: 'select audit_id as id from audit where organisation_id = $1 order by audit_id limit 40',
  run_id: `${jobIds} and kind = 'invitation_run'`,
  import_id: `${jobIds} and kind = 'import_run'`,
  membership_run_id: `${jobIds} and kind = 'membership_run'`,
  resend_id: `${jobIds} and kind = 'resend'`,
  retention_id: `${jobIds} and kind = 'retention'`,
  case_id: 'select case_id as id from data_case where organisation_id = $1',
  hold_id: 'select hold_id as id from legal_hold where organisation_id = $1',
  week: `select to_char(to_timestamp(max(assessed_at) / 1e6) - interval '7 days', 'YYYY-MM-DD') as id from assessment where organisation_id = $1`,
  day: `select to_char(to_timestamp(max(assessed_at) / 1e6), 'YYYY-MM-DD') as id from assessment where organisation_id = $1`,
};

export type Of = { organisation_id: number; public_id: string };
export type Page = { path: string; name: string; fields: Record<string, string> | null; url(n: number): string };

/** Fills drawn IDs into a text; those of number `n` of each kind. Throws if there is none. */
export async function drawer(tx: Tx, { organisation_id: id }: Of): Promise<(text: string, n: number) => string> {
  const ids = new Map<string, string[]>();
  for (const [name, sql] of Object.entries(drawn))
    ids.set(
      name,
      (await tx.query<{ id: string }>(sql, [id])).map((row) => row.id),
    );
  return (text, n) =>
    text.replace(/\{(\w+)\}/g, (_all, name: string) => {
      const found = ids.get(name) ?? [];
      if (found.length === 0) throw new Error(`There is no ${name} to open a page of.`);
      return found[n % found.length]!;
    });
}

/** Every page that this role may open, with its queries, and the forms. The n-th opening of a page has other IDs. */
export async function pagesOf(tx: Tx, organisation: Of, role: Role): Promise<Page[]> {
  const draw = await drawer(tx, organisation);
  const base = `/console/${organisation.public_id}`;
  const routes = consoleRoutes.filter(({ for: who }) => Array.isArray(who) && who.includes(role));
  const paths = routes.flatMap(({ method, path }) => (method === 'GET' && !closed.includes(path) ? [path] : []));
  const also = others.filter((path) => routes.some((one) => alike(one.path) === alike(path)));
  const page = (path: string, query: string, fields: Page['fields'] = null): Page => {
    const name = `${path}${query}`;
    const url = (n: number) => draw(`${base}${name}`, n);
    return { path, name: fields === null ? name : `POST ${name} ${Object.values(fields).join()}`, fields, url };
  };
  return [
    ...[...paths, ...also].flatMap((path) =>
      ['', ...(queries[path] ?? []).map((query) => `?${query}`)].map((query) => page(path, query)),
    ),
    ...sent.flatMap(([address, fields]) => {
      const path = address.split('?')[0]!;
      const isAllowed = routes.some((one) => one.method === 'POST' && one.path === path);
      return isAllowed ? [page(path, address.slice(path.length), fields)] : [];
    }),
    ...ofPerson.map((path) => ({ path, name: `/console${path}`, fields: null, url: () => `/console${path}` })),
  ];
}

const alike = (path: string) => path.replace(/\{\w+\}/g, '{}');

export type Opened = { status: number; ms: number; bytes: number; text: string };

/** Opens a page, or sends a form, as a browser does: the time until the last byte, and the size as it travels. */
export async function openPage(url: string, cookie: string, fields: Page['fields'] = null): Promise<Opened> {
  const begunMs = performance.now();
  const form = fields === null ? null : new URLSearchParams(fields).toString();
  const { statusCode, headers, body } = await request(url, {
    headers: {
      cookie,
      'accept-encoding': 'gzip',
      'sec-fetch-site': 'same-origin',
      ...(form !== null && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(form !== null && { method: 'POST', body: form }),
  });
  const received = Buffer.from(await body.arrayBuffer());
  const ms = performance.now() - begunMs;
  const isCompressed = headers['content-encoding'] === 'gzip';
  const text = (isCompressed ? gunzipSync(received) : received).toString('utf8');
  return { status: statusCode, ms, bytes: isCompressed ? received.length : gzipSync(received).length, text };
}
