import { gunzipSync, gzipSync } from 'node:zlib';
import { request } from 'undici';
import type { Tx } from '../../../src/platform/db/database.ts';

/** Pages of the console whose time depends on what an organisation has, by path, with their queries. `{name}` is drawn. */
export const queries: Record<string, string[]> = {
  '': [],
  '/learners': [
    'sort=-name',
    'sort=ref',
    'sort=-changed',
    'after={learner_id}',
    'before={learner_id}',
    'after={learner_id}&sort=-changed',
    'group={group_id}',
    'group={group_id}&placement=below_level_1&subject=digital',
    'team={team_id}',
    'subject=maths',
    'subject=english&placement=level_3&after={learner_id}',
    'placement=not_placed',
    'state=invited',
    'state=none&sort=-name',
    'state=expired&placement=entry',
  ],
  '/learners/{learner_id}': [],
  '/invitations': [
    'state=sent',
    'state=unopened',
    'state=used',
    'state=expired',
    'state=cancelled',
    'state=ending',
    'state=unopened&group={group_id}',
  ],
  '/follow-up': ['group={group_id}', 'team={team_id}&group={group_id}'],
  '/invitations/{invitation_id}': [],
  '/results': [
    'sort=learner',
    'sort=-placement',
    'sort=changed',
    'sort=flags',
    'group={group_id}',
    'group={group_id}&sort=learner',
    'group={group_id}&below=yes&latest=yes',
    'subject=digital&below=yes&latest=yes',
    'flag=review',
    'source=sitting',
    'from={day}&to={day}&sort=learner',
    'changed={day}&subject=maths',
  ],
  '/results/{assessment_id}': [],
  '/results/lists/digital-below-level-1': ['group={group_id}', 'start={day}'],
  '/results/lists/english-maths-below-level-2': ['group={group_id}'],
  '/results/spread': ['type=cohort', 'type=campus&subject=maths', 'group={group_id}'],
  '/results/progress': ['type=class&subject=maths', 'group={group_id}', 'group={group_id}&subject=maths'],
  '/results/gaps': ['group={group_id}', 'group={group_id}&subject=maths&from=50'],
  '/review': ['why=borderline', 'subject=maths', 'state=asked', 'state=decided'],
  '/review/{assessment_id}': [],
  '/matching': ['kind=name', 'kind=reference', 'after={learner_id}'],
  '/groups': ['type=class', 'active=no', 'after={group_id}', 'type=class&active=yes'],
  '/groups/{group_id}': ['after={learner_id}'],
  '/groups/{group_id}/history': [],
  '/teams': ['active=yes', 'after={team_id}'],
  '/teams/{team_id}': [],
  '/people': [],
  '/keys': [],
  '/keys/create': [],
  '/keys/{key_id}': [],
  '/webhooks/create': [],
  '/deliveries': ['status=dead', 'type=assessment.completed&status=succeeded'],
  '/log': ['key={key_id}', 'status=4xx', 'key={key_id}&status=5xx', 'day={day}'],
  '/log/errors': ['key={key_id}'],
  '/trace': ['assessment_id={assessment_id}', 'assessment_id={group_id}'],
  '/data-protection': [],
};

const drawn: Record<string, string> = {
  learner_id: 'select learner_id as id from learner where organisation_id = $1 order by learner_id limit 40',
  assessment_id: 'select assessment_id as id from review where organisation_id = $1 order by assessment_id limit 40',
  invitation_id:
    'select invitation_id as id from invitation where organisation_id = $1 order by invitation_id limit 40',
  group_id: `select group_id as id from learner_group where organisation_id = $1 and type = 'cohort' order by ref limit 40`,
  team_id: `select group_id as id from learner_group where organisation_id = $1 and type = 'team' order by ref limit 20`,
  key_id: 'select key_id as id from access_key where organisation_id = $1 order by key_id limit 40',
  day: `select to_char(to_timestamp(max(assessed_at) / 1e6), 'YYYY-MM-DD') as id from assessment where organisation_id = $1`,
};

export type Page = { path: string; name: string; url(n: number): string };

/** Every page of the list. Its n-th opening has other IDs. */
export async function pagesOf(tx: Tx, organisation: { organisation_id: number; public_id: string }): Promise<Page[]> {
  const ids = new Map<string, string[]>();
  for (const [name, sql] of Object.entries(drawn)) {
    const rows = await tx.query<{ id: string }>(sql, [organisation.organisation_id]);
    if (rows.length === 0) throw new Error(`There is no ${name} to open a page of.`);
    ids.set(
      name,
      rows.map(({ id }) => id),
    );
  }
  const filled = (text: string, n: number) =>
    text.replace(/\{(\w+)\}/g, (_all, name: string) => ids.get(name)![n % ids.get(name)!.length]!);
  return Object.entries(queries).flatMap(([path, more]) =>
    ['', ...more.map((query) => `?${query}`)].map((query) => ({
      path,
      name: `${path}${query}`,
      url: (n) => filled(`/console/${organisation.public_id}${path}${query}`, n),
    })),
  );
}

export type Opened = { status: number; ms: number; bytes: number; text: string };

/** Opens a page as a browser does: the time until its last byte, and its size as it travels. */
export async function openPage(url: string, cookie: string): Promise<Opened> {
  const begunMs = performance.now();
  const { statusCode, headers, body } = await request(url, { headers: { cookie, 'accept-encoding': 'gzip' } });
  const received = Buffer.from(await body.arrayBuffer());
  const ms = performance.now() - begunMs;
  const isCompressed = headers['content-encoding'] === 'gzip';
  const text = (isCompressed ? gunzipSync(received) : received).toString('utf8');
  return { status: statusCode, ms, bytes: isCompressed ? received.length : gzipSync(received).length, text };
}
