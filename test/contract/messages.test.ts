import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer } from './support/client.ts';
import { ask, credentials } from './support/client.ts';
import { assertRefused } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

/** Every message says what is wrong and then what to do: *What is wrong. What to do.* */

const target = await contractTarget();
const unknown = '00000000-0000-4000-8000-000000000000';
const url = 'https://portfolio.example.org/hooks';
const number = 'QQ 12 34 56 C';
const said = (answer: Answer): string => answer.body.error.message;

/** Three faults of one place. A list has no other way to be missing than an empty text. */
type Faults = { missing?: unknown; malformed: unknown; notAllowed?: unknown };

function assertApart(messages: string[], name: string): void {
  assert.equal(new Set(messages).size, messages.length, messages.join('\n'));
  for (const message of messages) {
    assert.ok(message.startsWith(`${name} `), message);
    assert.match(message, /^[^.]+(\.[^ ][^.]*)*\. [A-Z].*\.$/, 'What is wrong. What to do.');
  }
}

suite('missing, malformed and not allowed are three messages', () => {
  const learner = () => ({ full_name: 'Ana Silva', ref: freshRef('L') });
  const group = () => ({ type: 'cohort', ref: freshRef('G'), name: 'A group' });
  const fields: [path: string, body: () => object, field: string, Faults][] = [
    ['/learners', learner, 'full_name', { missing: undefined, malformed: 7, notAllowed: `Ana ${number}` }],
    ['/learners', learner, 'email', { malformed: 'ana', notAllowed: 'QQ123456C@example.org' }],
    ['/learners', learner, 'ref', { malformed: '-', notAllowed: 'QQ123456C' }],
    ['/learners', learner, 'ref', { malformed: 'a b', notAllowed: 'ana@example.org' }],
    ['/learners', learner, 'ref', { malformed: ['x'], notAllowed: 'ana-silva' }],
    ['/learners', learner, 'groups', { malformed: {}, notAllowed: Array.from({ length: 21 }, group) }],
    ['/groups', group, 'type', { missing: undefined, malformed: 1, notAllowed: 'herd' }],
    ['/groups', group, 'ref', { missing: undefined, malformed: '', notAllowed: number }],
    ['/groups', group, 'name', { missing: undefined, malformed: 'a\nb', notAllowed: number }],
    [
      '/groups/x/members',
      () => ({}),
      'learner_refs',
      { missing: undefined, malformed: 'a', notAllowed: Array.from({ length: 501 }, (_, i) => `r${i}`) },
    ],
    ['/groups/x/members/remove', () => ({}), 'learner_refs', { missing: undefined, malformed: 7, notAllowed: [] }],
    ['/webhooks', () => ({ url }), 'url', { missing: undefined, malformed: 'hooks', notAllowed: 'https://10.0.0.1/' }],
    ['/webhooks', () => ({ url }), 'event_types', { malformed: 'all', notAllowed: [] }],
    ['/webhooks', () => ({ url }), 'group_ids', { malformed: unknown, notAllowed: [] }],
  ];
  for (const [path, body, field, faults] of fields) {
    test(`POST ${path}: ${field}, ${JSON.stringify(faults.notAllowed)?.slice(0, 40)}`, async () => {
      const messages: string[] = [];
      for (const value of Object.values(faults)) {
        const answer = await target.post(path, { ...body(), [field]: value });
        assertRefused(answer, 422, `invalid_${field}`);
        messages.push(said(answer));
      }
      assertApart(messages, field);
      if ('missing' in faults) assert.match(messages[0]!, / is missing\. Send /);
      assert.ok(messages.some((message) => message.includes(' is malformed')));
    });
  }

  test('in a list, at its position', async () => {
    const messages: string[] = [];
    for (const wrong of [{ name: undefined }, { name: 7 }, { name: number }]) {
      const groups = [group(), { ...group(), ...wrong }];
      messages.push(said(await target.post('/learners', { ...learner(), groups })));
    }
    assertApart(messages, 'groups[1].name');
    const refs = await Promise.all(
      [7, 'QQ123456C', 'a@b'].map((ref) => target.post('/groups/x/members', { learner_refs: ['a', ref] })),
    );
    assertApart(refs.map(said), 'learner_refs[1]');
  });

  test('groups without ref', async () => {
    const answer = await target.post('/learners', { full_name: 'Ana Silva', groups: [group()] });
    assert.equal(said(answer), 'groups is not allowed without ref. Send ref too, or leave groups out.');
  });

  const parameters: [path: string, name: string, Faults][] = [
    ['/assessments', 'since', { missing: '', malformed: 'yesterday', notAllowed: '2026-02-30T09:00:00Z' }],
    ['/assessments', 'learner_ref', { missing: '', malformed: 'a b', notAllowed: 'QQ123456C' }],
    ['/assessments', 'learner_ref', { missing: '', malformed: '-', notAllowed: 'ana@example.org' }],
    ['/assessments', 'subject', { missing: '', malformed: '["maths"]', notAllowed: 'latin' }],
    ['/assessments', 'assessed_from', { missing: '', malformed: '2026-01-01', notAllowed: '2026-01-01T25:00:00Z' }],
    ['/assessments', 'assessed_to', { missing: '', malformed: '1', notAllowed: '2026-13-01T09:00:00+01:00' }],
    ['/assessments', 'rqf_level_code', { missing: '', malformed: 'one', notAllowed: '4' }],
    ['/assessments', 'below_level_1', { missing: '', malformed: '"true"', notAllowed: 'yes' }],
    ['/assessments', 'status', { missing: '', malformed: 'a b', notAllowed: 'gone' }],
    ['/assessments', 'group_id', { missing: '', malformed: 'x' }],
    ['/assessments', 'sort', { missing: '', malformed: '+updated_at', notAllowed: 'name' }],
    ['/assessments/digest', 'bits', { missing: '', malformed: 'x', notAllowed: '17' }],
    ['/assessments/digest', 'buckets', { missing: '', malformed: '-1', notAllowed: '65536' }],
    ['/groups', 'type', { missing: '', malformed: 'a b', notAllowed: 'herd' }],
    ['/groups', 'active', { missing: '', malformed: '{}', notAllowed: '1' }],
    ['/groups', 'since', { missing: '', malformed: '2026', notAllowed: '2026-01-32T00:00:00Z' }],
    ['/learners', 'since', { missing: '', malformed: 'x', notAllowed: '2025-02-29T00:00:00Z' }],
    ['/learners', 'cursor', { missing: '', malformed: 'x' }],
    ['/events', 'event_types', { missing: '', malformed: '*', notAllowed: 'all' }],
    ['/events', 'after', { missing: '', malformed: 'x' }],
  ];
  for (const [path, name, faults] of parameters) {
    test(`GET ${path}: ${name}, ${String(faults.notAllowed ?? faults.malformed)}`, async () => {
      const values = Object.values(faults) as string[];
      const answers = await Promise.all(
        values.map((value) => target.get(`${path}?${name}=${encodeURIComponent(value)}`)),
      );
      for (const answer of answers) assertRefused(answer, 400, `invalid_${name}`);
      assertApart(answers.map(said), name);
      assert.match(said(answers[0]!), / has no value\. /);
    });
  }

  test('a parameter with one value, twice', async () => {
    for (const name of ['since', 'cursor', 'sort', 'learner_ref']) {
      const answer = await target.get(`/assessments?${name}=x&${name}=x`);
      assert.ok(said(answer).startsWith(`${name} is in the query more than once. `), said(answer));
    }
  });

  test('members of a list in a query, at their position', async () => {
    const ids = ['', 'x'].map((id) => target.get(`/assessments?group_id=${unknown},${id}`));
    assertApart((await Promise.all(ids)).map(said), 'group_id[1]');
    const levels = ['', 'one', '4'].map((code) => target.get(`/assessments?rqf_level_code=1,${code}`));
    assertApart((await Promise.all(levels)).map(said), 'rqf_level_code[1]');
    const many = await target.get(`/assessments/digest?buckets=${Array.from({ length: 65 }, (_, i) => i).join()}`);
    assert.match(said(many), /^buckets has too many values\. Send at most 64 /);
  });

  test('a body', async () => {
    const answers = [
      await target.post('/groups', ''),
      await target.post('/groups', '{'),
      await target.post('/groups', '[]'),
    ];
    assert.deepEqual(
      answers.map(({ body }) => body.error.code),
      ['invalid_json', 'invalid_json', 'invalid_body'],
    );
    assertApart(answers.map(said), 'The body');
  });
});

suite('unknown_field', () => {
  const refused = async (path: string, body: object, code = 'unknown_field') => {
    const answer = await target.post(path, body);
    assertRefused(answer, 422, code);
    return said(answer);
  };
  const learner = { full_name: 'Ana Silva' };
  const known = 'It knows full_name, email, ref, groups.';

  test('is named, with the nearest field', async () => {
    for (const [name, nearest] of [
      ['emial', 'email'],
      ['fullname', 'full_name'],
      ['FullName', 'full_name'],
      ['full-name', 'full_name'],
      ['Group', 'groups'],
      ['reff', 'ref'],
    ] as const) {
      const message = await refused('/learners', { ...learner, [name]: 1 });
      assert.ok(message.endsWith(`which this endpoint does not know. Did you mean ${nearest}? ${known}`), message);
    }
    assert.match(await refused('/learners', { ...learner, emial: 1 }), /^The body has the field emial, which /);
    assert.match(await refused('/learners', { ...learner, FullName: 1 }), /^The body has the field FullName, which /);
    assert.equal(
      await refused('/learners', { ...learner, nickname: 1 }),
      `The body has the field nickname, which this endpoint does not know. ${known}`,
    );
  });

  test('is named by its position, if the name may be personal', async () => {
    for (const name of ['Ana Silva', 'ana@example.org', 'QQ123456C', 'q_q12_34_56c', 'LRN-000017', 'Ana', '<b>', '']) {
      const message = await refused('/learners', { ...learner, ref: 'x', [name]: 1 });
      assert.equal(message, `The body has a field, number 3 of 3, which this endpoint does not know. ${known}`);
    }
    // JSON.parse moves names that are whole numbers to the front, so such a name has no position.
    assert.equal(
      await refused('/learners', { ...learner, 123456: 1 }),
      `The body has a field with a number as its name, which this endpoint does not know. ${known}`,
    );
  });

  test('is named in a member of a list, too', async () => {
    const group = (more: object) => ({ type: 'cohort', ref: 'G', name: 'A group', ...more });
    const groups = (more: object) => ({ ...learner, ref: 'x', groups: [group({}), group(more)] });
    assert.equal(
      await refused('/learners', groups({ typ: 1 }), 'invalid_groups'),
      'groups[1] has the field typ, which this endpoint does not know. Did you mean type? It knows ref, name, type.',
    );
    assert.equal(
      await refused('/learners', groups({ 'Ana Silva': 1 }), 'invalid_groups'),
      'groups[1] has a field, number 4 of 4, which this endpoint does not know. It knows ref, name, type.',
    );
  });

  test('an unknown parameter has a suggestion as well', async () => {
    const answer = await target.get('/assessments?staus=completed');
    assert.match(
      said(answer),
      /the parameter staus, which this endpoint does not know\. Did you mean status\? It knows/,
    );
  });
});

test('401 names both headers, and never the half that is wrong', async () => {
  const { key } = target;
  const keys: Record<string, string>[] = [
    {},
    { 'x-access-key-id': key.access_key_id },
    { 'x-secret-access-key': key.secret_access_key },
    credentials({ ...key, secret_access_key: 'wrong' }),
    credentials({ ...key, access_key_id: 'wrong' }),
  ];
  const messages = new Set<string>();
  for (const headers of keys) {
    const answer = await ask(target.baseUrl, 'GET', '/api/v1/health', { headers });
    assertRefused(answer, 401, 'invalid_credentials');
    messages.add(said(answer));
  }
  assert.equal(messages.size, 1);
  assert.match([...messages][0]!, /X-Access-Key-Id and X-Secret-Access-Key .*\. Send both/);
});

test('404: an unknown path has other words than an unknown ID, and the same code', async () => {
  const [path, id, malformed, ref] = await Promise.all(
    ['/nothing', `/groups/${unknown}`, '/assessments/x', '/learners/nobody'].map((one) => target.get(one)),
  );
  for (const answer of [path!, id!, malformed!, ref!]) assertRefused(answer, 404, 'not_found');
  assert.match(said(path!), /path\. .*API reference\.$/);
  assert.notEqual(said(id!), said(path!));
  assert.deepEqual([said(malformed!), said(ref!)], [said(id!), said(id!)]);
  const page = await ask(target.baseUrl, 'GET', '/api/v2/health');
  assert.match(said(page), /API paths start with \/api\/v1\.$/);
});

suite('every refusal links to its section of the documentation', () => {
  const pages = new Map<string, Promise<Answer>>();

  async function assertHelps(answer: Answer): Promise<void> {
    const { code } = answer.body.error;
    const [, address] = /^<([^>]+)>; rel="help"$/.exec(answer.headers.link ?? '') ?? [];
    assert.ok(address, `${code}: ${answer.headers.link}`);
    const { pathname, hash } = new URL(address);
    assert.equal(hash, `#${code}`);
    if (!pages.has(pathname)) pages.set(pathname, ask(target.baseUrl, 'GET', pathname));
    const page = await pages.get(pathname)!;
    assert.equal(page.status, 200, pathname);
    assert.ok(page.text.includes(`id="${code}"`), address);
  }

  for (const [method, path, status, given] of [
    ['GET', '/assessments?foo=1', 400],
    ['GET', '/assessments?since=x', 400],
    ['GET', '/nothing', 404],
    ['GET', `/groups/${unknown}`, 404],
    ['PUT', '/groups', 405],
    ['POST', '/groups', 400, { body: '{' }],
    ['POST', '/groups', 413, { body: `"${'x'.repeat(1_100_000)}"` }],
    ['POST', '/groups', 415, { body: 'a=1', headers: { 'content-type': 'text/plain' } }],
    ['POST', '/groups', 422, { body: {} }],
    ['POST', '/groups', 422, { body: { type: 'team', ref: 'T', name: 'T' } }],
  ] as const)
    test(`${method} ${path} ${status}`, async () => {
      const answer = await target.api(method, path, given);
      assert.equal(answer.status, status);
      await assertHelps(answer);
    });

  test('401, and a response that is repeated under its Idempotency-Key', async () => {
    await assertHelps(await ask(target.baseUrl, 'GET', '/api/v1/health'));
    const headers = { 'idempotency-key': freshRef('key') };
    const [first, again] = [await target.post('/groups', {}, headers), await target.post('/groups', {}, headers)];
    assert.equal(again.headers['idempotency-replayed'], 'true');
    for (const answer of [first, again]) await assertHelps(answer);
  });

  test('HEAD has the link, and a response that succeeds has none', async () => {
    assert.match((await target.api('HEAD', '/nothing')).headers.link!, /#not_found>; rel="help"$/);
    assert.equal((await target.get('/health')).headers.link, undefined);
  });
});
