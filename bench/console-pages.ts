import type { Tx } from '../src/db/database.ts';
import type { ConsoleRoute } from '../src/console/route.ts';
import { consoleRoutes } from '../src/console/routes.ts';
import { addressOf } from '../src/console/server.ts';

/** The pages that bench/console.ts opens: all of the route table, with parameters and filters as people have them. */

/** One kind of page, and how its n-th opening is asked for. */
export type BenchPage = {
  name: string;
  route: ConsoleRoute;
  /** Of a form that only shows what it would do. */
  fields?: Record<string, string>;
  at(n: number): string;
};

/** Ids and places to draw from, by the parameter that they stand in. */
export type Places = Record<string, readonly string[]>;

/** Queries beside the bare page, by path: each is a kind of its own. `{name}` draws from the places. */
export const queries: Record<string, string[]> = {
  '/log': [
    'key={key_id}',
    'route=GET%20%2Fassessments%2F%7Bid%7D',
    'status=4xx',
    'status=5xx',
    'code=limit_out_of_range',
    'code=never_seen',
    'key={idle_key}',
    'key={key_id}&status=5xx',
    'day={day}',
    'after={log_place}',
    'after={log_place}&key={key_id}&status=4xx',
  ],
  '/log/errors': ['key={key_id}'],
  '/trace': [
    'assessment_id={assessment_id}',
    'assessment_id={recent}',
    'assessment_id={told}',
    'assessment_id={user_id}',
  ],
  '/deliveries': [
    'status=dead',
    'status=pending',
    'endpoint={endpoint_id}',
    'type=learner.groups.updated',
    'type=assessment.completed&status=succeeded',
    'from={late_day}&to={late_day}',
    'after={delivery_place}',
    'after={delivery_place}&endpoint={endpoint_id}&status=dead',
  ],
  '/invitations': [
    ...['sent', 'opened', 'paused', 'used', 'expired', 'cancelled', 'unopened', 'ending'].map(
      (state) => `state=${state}`,
    ),
    'after={invitation_place}',
    'state=expired&after={invitation_place}',
  ],
  '/matching': ['kind=name', 'kind=reference', 'after={learner_id}'],
  '/review': ['why=borderline', 'subject=maths', 'state=asked', 'state=decided', 'why=borderline&after={review_place}'],
  '/resends/create': ['endpoint={endpoint_id}'],
  '/groups': ['type=class', 'active=no', 'after={group_id}', 'type=class&active=yes&after={class_id}'],
  '/groups/{group_id}': ['after={member}'],
  '/teams': ['active=yes', 'after={team_id}'],
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
  '/results/export': ['group={group_id}'],
  '/results/spread': ['type=cohort', 'type=campus&subject=maths', 'group={group_id}'],
  '/results/progress': ['group={group_id}', 'group={group_id}&subject=maths'],
  '/results/lists/digital-below-level-1': ['group={group_id}', 'start={day}'],
  '/results/lists/english-maths-below-level-2': ['group={group_id}'],
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
    'state=finished',
    'state=none&sort=-name',
    'state=expired&placement=entry',
  ],
};

/** Forms that show a page and change nothing. */
export const forms: Record<string, Record<string, string>> = {
  '/resends/failed': { since: '2000-01-01', endpoint: '' },
  '/keys/create': { label: '', group_search: 'cohort', press: 'find' },
  '/learners': { wanted: 'learner ana' },
  '/search': { reference: '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d' },
  '/webhooks/create': { url: 'http://' },
  '/groups/create': { type: 'cohort', ref: '', group_name: '' },
  '/groups/{group_id}/add': { references: 'a\nb' },
};

/** Numbers of rows of the log, evenly over all of it. */
const across = (n: number) => `
    select low + n * (high - low) / ${n} as near, n
      from (select min(audit_id) as low, max(audit_id) as high from audit where organisation_id = $1) b, generate_series(0, ${n - 1}) n`;

/** The first learners are in teams, and so in sight of the tutor, too. */
const seen = `select learner_id from learner where organisation_id = $1 and full_name <> '' order by learner_id limit 60`;

const sample: Record<string, string> = {
  key_id:
    'select key_id as id from access_key where organisation_id = $1 and revoked_at is null order by md5(key_id) limit 40',
  idle_key: `select 'ARSK0000000000000000' as id where $1::int8 is not null`,
  endpoint_id: 'select endpoint_id as id from webhook_endpoint where organisation_id = $1',
  delivery_id: `select delivery_id as id from (select delivery_id from delivery where organisation_id = $1 order by delivery_id limit 60) d
    union all (select delivery_id from delivery where organisation_id = $1 and status = 'dead' limit 20)`,
  resend_id: "select job_id as id from background_job where organisation_id = $1 and kind = 'resend' limit 20",
  retention_id: "select job_id as id from background_job where organisation_id = $1 and kind = 'retention' limit 20",
  hold_id: 'select hold_id as id from legal_hold where organisation_id = $1 limit 20',
  erased_id: `select learner_id as id from learner_change where organisation_id = $1 and kind = 'erased' limit 20`,
  case_id: 'select case_id as id from data_case where organisation_id = $1 limit 20',
  learner_id: `select learner_id as id from (${seen}) l`,
  other_id: `select l.learner_id as id from learner l join (${seen}) s using (learner_id)
    where l.organisation_id = $1 order by l.learner_id desc limit 60`,
  user_id: 'select user_id as id from user_membership where organisation_id = $1 limit 40',
  call: `select audit_id::text as id from (${across(60)}) w
    cross join lateral (select audit_id from audit a where a.organisation_id = $1 and a.audit_id >= near order by a.audit_id limit 1) a`,
  log_place: `select (extract(epoch from at) * 1000)::int8 || '-' || audit_id as id from (${across(20)}) w
    cross join lateral (select at, audit_id from audit a where a.organisation_id = $1 and a.audit_id >= near order by a.audit_id limit 1) a`,
  day: `select to_char(hour, 'YYYY-MM-DD') as id from (select distinct date_trunc('day', hour, 'UTC') as hour from audit_hour where organisation_id = $1) h limit 60`,
  late_day: `select distinct to_char(created_at, 'YYYY-MM-DD') as id from delivery where organisation_id = $1 limit 20`,
  delivery_place: `select (extract(epoch from created_at) * 1000)::int8 || '.' || delivery_id as id from delivery
    where organisation_id = $1 order by delivery_id limit 30`,
  group_id: `select distinct m.group_id as id from membership m join learner_group g using (organisation_id, group_id)
    where m.organisation_id = $1 and m.left_position is null and g.type <> 'team' limit 40`,
  class_id: `select group_id as id from learner_group where organisation_id = $1 and type = 'class' order by group_id limit 40`,
  member: 'select learner_id as id from membership where organisation_id = $1 and left_position is null limit 40',
  team_id: `select group_id as id from learner_group where organisation_id = $1 and type = 'team' order by group_id limit 20`,
  import_id: "select job_id as id from background_job where organisation_id = $1 and kind = 'import_run' limit 20",
  membership_run_id:
    "select job_id as id from background_job where organisation_id = $1 and kind = 'membership_run' limit 20",
  run_id: "select job_id as id from background_job where organisation_id = $1 and kind = 'invitation_run' limit 20",
  invitation_id: `select invitation_id as id from invitation i join (${seen}) l using (learner_id) where i.organisation_id = $1`,
  invitation_place: `select (extract(epoch from created_at) * 1000000)::int8 || '.' || invitation_id as id from invitation
    where organisation_id = $1 order by invitation_id limit 40`,
  assessment_id: `select assessment_id as id from assessment_feed f join (${seen}) l using (learner_id) where f.organisation_id = $1 and not f.deleted`,
  position: `select n::text as id from generate_series(1, 20) n where $1::int8 is not null`,
  review_place: `select rank || '.' || (extract(epoch from opened_at) * 1000)::int8 || '.' || assessment_id as id from review
    where organisation_id = $1 and rank = 4 and decided_at is null order by assessment_id limit 30`,
  recent: 'select assessment_id as id from assessment_feed where organisation_id = $1 order by position desc limit 60',
  told: `select substring(payload from '"assessment_id":"([0-9a-f-]{36})"') as id from event
    where organisation_id = $1 and type = 'assessment.completed' order by number limit 60`,
};

/** Draws from what there is; `given` are those that no table shows. */
export async function readPlaces(tx: Tx, organisationId: number, given: Places): Promise<Places> {
  const places: Record<string, readonly string[]> = { ...given };
  for (const [name, text] of Object.entries(sample))
    places[name] = (await tx.query<{ id: string }>(text, [organisationId])).map((row) => row.id);
  return places;
}

function filled(text: string, places: Places, n: number): string {
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const from = places[name];
    if (from === undefined || from.length === 0)
      throw new Error(`Nothing to put into {${name}} of ${text}: tell bench/console-pages.ts what to draw from.`);
    return encodeURIComponent(from[n % from.length]!);
  });
}

const isFor = (route: ConsoleRoute, role: string) =>
  typeof route.for === 'string' ? true : (route.for as readonly string[]).includes(role);

/** Every page that somebody in this role may open. */
export function pagesFor(role: string, places: Places): BenchPage[] {
  return consoleRoutes.flatMap((route): BenchPage[] => {
    if (!isFor(route, role)) return [];
    const address = addressOf(route);
    const { path } = route;
    if (route.method === 'POST') {
      const fields = forms[path];
      return fields === undefined
        ? []
        : [{ name: `POST ${address}`, route, fields, at: (n) => filled(address, places, n) }];
    }
    return ['', ...(queries[path] ?? [])].map((query) => ({
      name: query === '' ? address : `${address}?${query}`,
      route,
      at: (n) => filled(query === '' ? address : `${address}?${query}`, places, n),
    }));
  });
}
