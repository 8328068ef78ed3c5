import assert from 'node:assert/strict';
import { get, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { beforeEach, suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import type { ConsoleRoute } from '../../../src/web/console/kit/route.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { addressOf } from '../../../src/web/console/kit/route.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { openRequest } from '../../../src/governance/subject-requests/subject-requests.ts';
import { placeHold } from '../../../src/governance/legal-holds/holds.ts';
import { orderRun } from '../../../src/governance/retention/run.ts';
import { scheduleReport } from '../../../src/organisations/scheduled-reports/scheduled-reports.ts';
import { roles } from '../../../src/organisations/users/roles.ts';
import { withService } from '../../support/service.ts';
import { personOf, visitor } from './visitor.ts';

/** Every page of the console by every role, made from the table of routes: a new page can't be forgotten. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });
const org = await service.organisation({ name: 'Northfield College' });
const other = await service.organisation({ name: 'Elsewhere College' });
const stranger = await personOf(service, other.id, 'owner');
// Each test opens more pages than an address gets in a minute of all of them together.
beforeEach(() => clock.advance(limits.rateWindowMs + 1));
const nowhere = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';

const theirEndpoint: string = (await other.post('/webhooks', { url: 'https://elsewhere.example/hook' })).body.data.id;

const theirRun = service.app.random.uuid();
const theirHold = service.app.random.uuid();
const theirCase = service.app.random.uuid();
await service.withUnitOfWork(async (work) => {
  await orderRun(work, other.id, { runId: theirRun, isDryRun: true, actor: 'operator' });
  const hold = { holdId: theirHold, learnerId: null, reason: 'Audit', actor: 'operator', endsAt: null };
  await placeHold(work, other.id, hold);
  const given = { kind: 'access', learnerId: null, about: 'Ana', note: null, actor: 'operator' } as const;
  await openRequest(work, other.id, { ...given, caseId: theirCase, receivedAt: new Date(work.nowMs) });
});

const report = { every: 'week', day: 1, hour: 8, page: 'results', query: '', zone: 'Europe/London' } as const;
const theirReport = await service.withUnitOfWork((work) =>
  scheduleReport(work, other.id, { ...report, userId: stranger.userId }),
);

/** Ids of the other organisation's things, by the parameter that they stand in. */
const theirs: Record<string, string> = {
  user_id: stranger.userId,
  key_id: other.key.access_key_id,
  endpoint_id: theirEndpoint,
  retention_id: theirRun,
  case_id: theirCase,
  hold_id: theirHold,
  report_id: theirReport!,
};

const filled = (route: ConsoleRoute, ids: Record<string, string> = {}, organisation = org.publicId) =>
  addressOf(route)
    .replace('{organisation}', organisation)
    .replace(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? nowhere);

const ofOrganisation = consoleRoutes.filter((route) => Array.isArray(route.for));

/** What may tell two pages apart: everything but the moment and the request's id. */
function bytes({ status, headers, text }: Awaited<ReturnType<typeof stranger.get>>) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, rest, text };
}

suite('who may open which page', () => {
  test('an address stands once in the table, and in the navigation only what can be opened', () => {
    const all = consoleRoutes.map((route) => `${route.method} ${addressOf(route)}`);
    assert.equal(new Set(all).size, all.length);
    for (const route of consoleRoutes)
      if (typeof route.for !== 'string' && route.menu !== undefined) {
        assert.equal(route.method, 'GET');
        assert.doesNotMatch(route.path, /\{/);
      }
  });

  test('nobody: every page leads to the sign-in, and no form does anything', async () => {
    for (const route of consoleRoutes) {
      if (route.for === 'anyone') continue;
      const answer = await (route.method === 'GET'
        ? visitor(service).get(filled(route))
        : visitor(service).post(filled(route)));
      assert.equal(answer.status, 303, addressOf(route));
      assert.match(answer.headers.location!, /^\/console\/sign-in(\?to=%2Fconsole[^&]*)?$/);
    }
  });

  for (const role of roles)
    test(`${role}: opens what is theirs, and the rest isn't there`, async () => {
      const person = await personOf(service, org.id, role);
      const missing = bytes(await person.get(`/console/${org.publicId}/no-such-page`));
      assert.equal(missing.status, 404);
      for (const route of ofOrganisation) {
        const ask = (address: string) => (route.method === 'GET' ? person.get(address) : person.post(address));
        const at = `${route.method} ${addressOf(route)}`;
        const mayOpen = (route.for as readonly string[]).includes(role);
        const answer = await ask(filled(route, { user_id: person.userId }));
        if (!mayOpen) assert.deepEqual(bytes(answer), missing, at);
        else if (route.path.includes('{')) assert.ok([200, 303, 404, 422].includes(answer.status), at);
        // An empty form may say nothing of what its sender saw (409).
        else assert.ok([200, 303, 409, 422].includes(answer.status), `${at}: ${answer.status}`);
        // Their own act may have removed them, or ended their session.
        if (person.cookie === null || answer.headers['set-cookie'] !== undefined) {
          Object.assign(person, { cookie: (await personOf(service, org.id, role)).cookie });
        }
        // Another organisation's things, and organisations that there are and aren't, look alike.
        assert.deepEqual(bytes(await ask(filled(route, theirs, other.publicId))), missing, at);
        assert.deepEqual(bytes(await ask(filled(route, {}, nowhere))), missing, at);
        if (route.path.includes('{')) {
          assert.deepEqual(bytes(await ask(filled(route, theirs))), bytes(await ask(filled(route))), at);
          assert.equal((await ask(filled(route))).status, 404, at);
        }
      }
    });

  test('every page with a proof asks for it again after ten minutes', async () => {
    const owner = await personOf(service, org.id, 'owner');
    await service.app.db.query(
      `update user_session set proved_at = proved_at - interval '11 minutes' where user_id = $1`,
      [owner.userId],
    );
    for (const route of consoleRoutes) {
      if (route.for === 'anyone' || route.proof !== true) continue;
      const answer = await (route.method === 'GET' ? owner.get(filled(route)) : owner.post(filled(route)));
      assert.equal(answer.status, 303);
      assert.match(answer.headers.location!, /^\/console\/confirm(\?to=|$)/);
    }
  });

  test('keys and people are out of reach without a second factor', async () => {
    for (const role of ['owner', 'admin', 'developer'] as const) {
      const person = await personOf(service, org.id, role, { secondFactor: false });
      for (const route of ofOrganisation) {
        if (!(route.for as readonly string[]).includes(role)) continue;
        const answer = await (route.method === 'GET' ? person.get(filled(route)) : person.post(filled(route)));
        assert.match(answer.headers.location ?? '', /^\/console\/account\/second-factor/, addressOf(route));
      }
    }
  });
});

suite('what nobody types', () => {
  const texts = ['\0', 'a\0b@college.example', '\ud800', '%', '\u202e', 'x'.repeat(20_000), '__proto__', '-1', '{}'];

  test('every form takes or refuses any text in any field, and never fails', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const names =
      'to email password present account code role full_name issuer client_id client_secret tenant learner subject label purpose contact networks groups subjects expires once until reference name timeZone contact noticesEmail subjects groupAutocreate press group_type group_search searched url eventTypes type ref group_name references press how learners once target staff rows file team replaced mail invitation until reason ref extra_time retake_reason';
    for (const route of consoleRoutes) {
      if (route.method !== 'POST' || /sign-out|remove|reset|end|off$|\/sandbox/.test(route.path)) continue;
      for (const text of texts) {
        const fields = Object.fromEntries(names.split(' ').map((name) => [name, text]));
        const answer = await owner.post(filled(route), fields);
        assert.ok(answer.status < 500, `${addressOf(route)} ${JSON.stringify(text).slice(0, 20)}: ${answer.status}`);
        assert.doesNotMatch(answer.headers.location ?? '', /[\r\n\0]/);
      }
    }
    for (const text of texts) {
      const address = `/console/${org.publicId}?did=${encodeURIComponent(text.toWellFormed()).slice(0, 2000)}`;
      assert.equal((await owner.get(address)).status, address.includes('%00') ? 404 : 200);
    }
  });

  test('every page opens with any text in its address, or isn’t there, and never fails', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const names =
      'active after before below call changed client code day endpoint flag from group key kind latest learner level placement route since sort source start state status subject team to type until why';
    const nobodys = `9999999999999999.${nowhere}`;
    for (const route of ofOrganisation) {
      if (route.method !== 'GET') continue;
      for (const text of ['\0', '__proto__', 'constructor', '9'.repeat(20), nobodys]) {
        const query = new URLSearchParams(names.split(' ').map((name) => [name, text])).toString();
        const own = addressOf(route).replace('{organisation}', org.publicId);
        const path = own.replace(/\{\w+\}/g, encodeURIComponent(text));
        for (const address of [`${filled(route)}?${query}`, ...(path === own ? [] : [path])]) {
          const { status } = await owner.get(address);
          assert.ok(status < 500, `${address.slice(0, 200)}: ${status}`);
          if (address.includes('%00')) assert.equal(status, 404, address.slice(0, 200));
        }
      }
    }
  });
});

suite('what browsers are told', () => {
  test('every page forbids frames, foreign content and being kept', async () => {
    const owner = await personOf(service, org.id, 'owner');
    for (const path of ['/console/sign-in', `/console/${org.publicId}/people`, '/console/no-such/page']) {
      const { headers } = await owner.get(path);
      assert.match(headers['content-security-policy']!, /^default-src 'none';.*frame-ancestors 'none'$/);
      assert.doesNotMatch(headers['content-security-policy']!, /unsafe|\*|data:/);
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['x-content-type-options'], 'nosniff');
    }
  });

  test('a page is compressed for whoever came by themselves, and for nobody else', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/keys/create`;
    const sizeOf = async (headers: Record<string, string>) => {
      const { raw, coding } = await new Promise<{ raw: Buffer; coding: string | undefined }>((resolve, reject) => {
        get(service.url + path, { headers: { cookie: owner.cookie!, ...headers } }, (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('end', () => resolve({ raw: Buffer.concat(parts), coding: answer.headers['content-encoding'] }));
        }).on('error', reject);
      });
      const plain = coding === 'gzip' ? gunzipSync(raw) : raw;
      assert.match(plain.toString('utf8'), /<h1>Create key<\/h1>/);
      return { coding, bytes: raw.length };
    };
    const whole = await sizeOf({});
    assert.equal(whole.coding, undefined);
    for (const site of ['same-origin', 'none']) {
      const small = await sizeOf({ 'accept-encoding': 'gzip', 'sec-fetch-site': site });
      assert.deepEqual([small.coding, small.bytes < whole.bytes / 2], ['gzip', true], site);
    }
    for (const site of ['cross-site', 'same-site', 'Same-Origin', '']) {
      const sent = await sizeOf({ 'accept-encoding': 'gzip', 'sec-fetch-site': site });
      assert.equal(sent.coding, undefined, site);
    }
    assert.equal((await sizeOf({ 'accept-encoding': 'gzip' })).coding, undefined);
  });

  test('every page says in a line what it is for, before anything else', async () => {
    const owner = await personOf(service, org.id, 'owner');
    for (const route of consoleRoutes) {
      if (route.method !== 'GET' || typeof route.for === 'string' || route.path.includes('{')) continue;
      const { status, text } = await owner.get(filled(route));
      const [, first] = /<h1>[^]*?<\/h1>(?:<div class="actions">[^]*?<\/div>)?<\/div>\s*<(\w+)/.exec(text) ?? [];
      if (status === 200) assert.equal(first, 'p', addressOf(route));
    }
  });

  test('a form counts only when the browser says that it is ours', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/people/invite`;
    const fields = { email: 'x@college.example', role: 'tutor' };
    const origin = service.url;
    const refused: Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': '' },
      { 'sec-fetch-site': 'Same-Origin' },
      { 'sec-fetch-site': 'same-origin, cross-site' },
      { 'sec-fetch-site': 'cross-site', origin },
      { origin: 'null' },
      { origin: 'https://elsewhere.example' },
      { origin: `${origin}.elsewhere.example` },
      { origin: origin.replace('http:', 'https:') },
      { origin: origin.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10)) },
    ];
    for (const headers of refused) {
      const answer = await owner.post(path, fields, headers);
      assert.equal(answer.status, 403, JSON.stringify(headers));
    }
    for (const route of consoleRoutes)
      if (route.method === 'POST')
        assert.equal((await owner.post(filled(route), {}, {})).status, 403, addressOf(route));
    assert.equal((await owner.post(path, fields, { origin })).status, 200);
    assert.equal((await owner.post(path, fields, { 'sec-fetch-site': 'same-origin' })).status, 200);
  });

  test('who may not send a form is told so before anything of it is read', async () => {
    const [owner, auditor] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'auditor')];
    /** Sends the head of a form, and never its body. */
    const announced = (route: ConsoleRoute, cookie: string | null, more: Record<string, string>) =>
      new Promise<string>((resolve, reject) => {
        const headers = { 'content-type': 'multipart/form-data; boundary=x', cookie: cookie ?? '', ...more };
        const sent = request(service.url + filled(route), { method: 'POST', headers }, (answer) => {
          answer.resume();
          resolve(`${answer.statusCode} ${answer.headers.connection}`);
          sent.destroy();
        });
        sent.on('error', reject).flushHeaders();
      });
    const uploads = consoleRoutes.filter(({ upload }) => upload !== undefined);
    assert.ok(uploads.length > 3);
    for (const route of uploads) {
      const ours = { 'sec-fetch-site': 'same-origin', 'content-length': String(route.upload) };
      assert.equal(await announced(route, null, ours), '303 keep-alive');
      assert.equal(await announced(route, 'session-1=none', ours), '303 keep-alive');
      assert.equal(await announced(route, owner.cookie, { ...ours, 'sec-fetch-site': 'cross-site' }), '403 keep-alive');
      for (const person of [auditor, stranger])
        assert.equal(await announced(route, person.cookie, ours), '404 keep-alive');
      // What would never end, or is longer than it may be, is not waited for either; it is read on for as long as a request may take.
      const { 'content-length': _, ...endless } = ours;
      for (const [name, value] of [
        ['content-length', String(route.upload! + 1)],
        ['transfer-encoding', 'chunked'],
      ] as const)
        assert.equal(await announced(route, null, { ...endless, [name]: value }), '303 keep-alive');
    }
  });
});
