// Tier: full. Measures times, in every form of the console.
// Process: own. Measures how long the process does not answer.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { openRequest } from '../../src/governance/subject-requests/subject-requests.ts';
import type { ConsoleRoute } from '../../src/web/console/kit/route.ts';
import { consoleRoutes } from '../../src/web/console/routes.ts';
import { addressOf } from '../../src/web/console/kit/route.ts';
import { placeHold } from '../../src/governance/legal-holds/holds.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { createTeam } from '../../src/organisations/teams.ts';
import { orderRun } from '../../src/governance/retention/run.ts';
import { inviteUser } from '../../src/organisations/users/invitations.ts';
import { password, personOf } from '../web/console/visitor.ts';
import { Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { cut, fileForm, hangUpAll, multipart, mustBeQuick, send, texts, urlencoded } from './turns.ts';
import { Form } from '../../src/api/http/form.ts';

/** The worst texts in every field of every form of the console, and in every parameter of its pages. */

const service = await withService({ own: 'Trusts a proxy.', settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8' } });
after(hangUpAll);
const { app } = service;
const org = await service.organisation({ name: 'Northfield College' });
const cookieOf = async () => (await personOf(service, org.id, 'owner')).cookie!;

/** Notes the names that a method is asked for: fields of a form, parameters of a query. */
function listen(prototype: object, names: Set<string>, ...methods: string[]): void {
  const target = prototype as Record<string, (name: string, ...rest: unknown[]) => unknown>;
  for (const method of methods) {
    const original = target[method]!;
    target[method] = function (name, ...rest) {
      names.add(method === 'file' ? `file ${name}` : name);
      return original.call(this, name, ...rest);
    };
  }
}
const fields = new Set<string>();
listen(Form.prototype, fields, 'raw', 'all', 'file');
const parameters = new Set<string>();
listen(URLSearchParams.prototype, parameters, 'get', 'getAll', 'has');

/** What stands in the other fields, so that their faults don't hide that of the field in question. */
const typed: Record<string, string> = {
  about: 'x',
  answer: 'x',
  code: '123456',
  email: 'someone@college.example',
  eventTypes: 'assessment.completed',
  from: '2026-01-01',
  full_name: 'Ann Example',
  groupAutocreate: 'on',
  group_name: 'Example',
  how: 'add',
  kind: 'access',
  label: 'Example',
  minutes: '30',
  name: 'Example',
  note: 'x',
  once: app.random.uuid(),
  password,
  present: password,
  press: 'enter',
  reason: 'Because',
  received: '2026-01-01',
  ref: 'L-1',
  reference: 'L-1',
  references: 'L-1',
  role: 'tutor',
  rows: 'Ref\tFull name\nL-1\tAna Silva\nL-2\tBen Moyo',
  step: 'note',
  subjects: 'maths',
  text: 'x',
  timeZone: 'Europe/London',
  type: 'cohort',
  until: '2027-06-01',
  url: 'https://a.example/',
  wanted: 'Ann',
};
const record = {
  learner: { ref: 'L-1', full_name: 'Ana Silva' },
  assessed_at: '2026-01-15T10:00:00Z',
  subject: 'maths',
  framework: 'A framework',
};

/** Where ids of things that are there stand, by the parameter of an address. */
const tables: Record<string, string> = {
  assessment_id: 'assessment_id::text as id from assessment',
  call: 'audit_id::text as id from audit',
  case_id: 'case_id::text as id from data_case',
  delivery_id: 'delivery_id::text as id from delivery',
  endpoint_id: 'endpoint_id::text as id from webhook_endpoint',
  group_id: `group_id::text as id from learner_group`,
  hold_id: 'hold_id::text as id from legal_hold',
  import_id: "job_id::text as id from background_job where kind = 'import_run'",
  invitation_id: 'invitation_id::text as id from invitation',
  key_id: 'key_id as id from access_key',
  learner_id: 'learner_id::text as id from learner',
  link_id: 'link_id::text as id from key_link',
  other_id: 'learner_id::text as id from learner',
  retention_id: "job_id::text as id from background_job where kind = 'retention'",
  run_id: "job_id::text as id from background_job where kind = 'invitation_run'",
  team_id: "group_id::text as id from learner_group where type = 'team'",
};

async function valueOf(parameter: string): Promise<string> {
  if (parameter === 'organisation') return org.publicId;
  if (parameter === 'user_id') return (await personOf(service, org.id, 'tutor')).userId;
  if (parameter === 'token') {
    const invited = {
      email: `${app.random.uuid()}@college.example`,
      role: 'tutor',
      invitedBy: 'operator',
      again: true,
    } as const;
    return ((await service.withUnitOfWork((work) => inviteUser(work, org.id, invited))) as { token: string }).token;
  }
  const from = tables[parameter];
  if (from === undefined) return app.random.uuid();
  const rows = await app.db.query<{ id: string }>(
    `select id from (select organisation_id, ${from}) found where organisation_id = $1`,
    [org.id],
  );
  return rows.length === 0 ? app.random.uuid() : rows[Math.floor(app.random.float() * rows.length)]!.id;
}

async function addressFor(route: ConsoleRoute): Promise<string> {
  let path = addressOf(route);
  for (const [whole, name] of path.matchAll(/\{(\w+)\}/g)) path = path.replace(whole, await valueOf(name!));
  return path;
}

const post = (path: string, cookie: string, form: Record<string, string>) => ({
  method: 'POST',
  path,
  headers: { ...urlencoded, cookie },
  body: new URLSearchParams(form).toString(),
});

const scene = new Scenario(service, org);
for (let i = 0; i < 6; i++) {
  await org.post('/webhooks', { url: `https://hooks.example.org/${i}` });
  await org.post('/groups', { type: 'cohort', ref: `C-${i}`, name: `Cohort ${i}` });
  await (await scene.learner(`L-${i}`)).completes();
}
await service.withUnitOfWork(async (work) => {
  for (let i = 0; i < 3; i++) {
    await createTeam(work, org.id, { ref: `T-${i}`, name: `Team ${i}` });
    await orderRun(work, org.id, { runId: app.random.uuid(), isDryRun: true, actor: 'operator' });
    const hold = { learnerId: null, reason: 'Audit', actor: 'operator', endsAt: null };
    await placeHold(work, org.id, { holdId: app.random.uuid(), ...hold });
    const opened = { kind: 'access', learnerId: null, about: 'Ana', note: null, actor: 'operator' } as const;
    await openRequest(work, org.id, { caseId: app.random.uuid(), receivedAt: new Date(work.nowMs), ...opened });
  }
});
const owner = await cookieOf();
for (const [path, form] of Object.entries({
  invite: typed,
  'key-links/create': typed,
  'results/import': { rows: JSON.stringify(record), once: app.random.uuid() },
}))
  assert.ok((await send(service, post(`/console/${org.publicId}/${path}`, owner, form))).status < 400, path);

suite('64 KB of the worst texts keep the event loop busy for at most 50 ms', () => {
  for (const route of consoleRoutes.filter((one) => one.method === 'POST'))
    test(`POST ${addressOf(route)}`, async () => {
      const cookie = route.for === 'anyone' ? '' : await cookieOf();
      const bytes = route.for === 'anyone' ? limits.publicFormBytes : 192 * 1024;
      let path = await addressFor(route);
      fields.clear();
      await send(service, post(path, cookie, {}));
      // Fields that are only read behind others join them on the way.
      for (const field of fields)
        for (const [kind, text] of texts) {
          await app.db.query('delete from sign_in_attempts');
          const [, file] = /^file (.*)/.exec(field) ?? [];
          const others = Object.fromEntries([...fields].map((one) => [one, typed[one] ?? '']));
          const sent =
            file === undefined
              ? cut(text, bytes, (some) => post(path, cookie, { ...others, [field]: some }))
              : { method: 'POST', path, headers: { ...multipart, cookie }, body: fileForm(file, text) };
          const { status } = await mustBeQuick(service, `${kind} in ${field}`, sent);
          // What was there may have gone.
          if (status !== 422) path = await addressFor(route);
        }
      await mustBeQuick(service, 'many fields', { ...post(path, cookie, {}), body: 'a&'.repeat(bytes / 2) });
      const parts = fileForm('a', '').repeat(500);
      await mustBeQuick(service, 'many parts', {
        method: 'POST',
        path,
        headers: { ...multipart, cookie },
        body: parts.slice(0, bytes),
      });
    });

  for (const route of consoleRoutes.filter((one) => one.method === 'GET'))
    test(`GET ${addressOf(route)}`, async () => {
      const headers = { cookie: route.for === 'anyone' ? '' : await cookieOf(), 'sec-fetch-site': 'none' };
      const path = await addressFor(route);
      const get = (query: string) => ({ method: 'GET', path: `${path}?${query}`, headers });
      parameters.clear();
      await send(service, get(''));
      for (const parameter of parameters)
        for (const [kind, text] of texts) {
          const sent = cut(text, 14_000, (some) => get(new URLSearchParams({ [parameter]: some }).toString()));
          await mustBeQuick(service, `${kind} in ${parameter}`, sent);
        }
      await mustBeQuick(service, 'many parameters', get('a&'.repeat(7000)));
    });
});
