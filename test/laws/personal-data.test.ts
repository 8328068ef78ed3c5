import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { client } from '../contract/support/client.ts';
import { withService } from '../support/service.ts';
import { secret, serviceProcess } from './world/processes.ts';

/** Law 8: personal data stays in bodies; National Insurance numbers are stored nowhere. */

const service = await withService({
  own: 'Has a secret that the test knows.',
  settings: { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000' },
});

const name = 'Zebedee Quillfeather';
const renamed = 'Zebedee Marlinspike';
const email = 'zebedee.q@personal.example';
const ref = 'LRN-77-Wombat';
const groupName = 'Cohort of Xylophonists';
const markers = [
  'zebedee',
  'quillfeather',
  'marlinspike',
  'personal.example',
  'wombat',
  'xylophonist',
  'qq 12 34 56 c',
  'qq123456c',
  'qq-12-34-56-c',
];
const numbers = ['QQ123456C', 'QQ 12 34 56 C', 'qq-12-34-56-c', 'ＱＱ１２３４５６Ｃ', 'QQ\u200b123456C'];

/** Told apart from the service's own check on purpose. */
function holdsNumber(text: string): boolean {
  return /(?<![A-Z0-9])[A-Z]{2}[\W_]*(?:[0-9][\W_]*){6}[A-D](?![A-Z0-9])/i.test(
    text.normalize('NFKC').replace(/\p{Cf}/gu, ''),
  );
}

suite('law 8: personal data stays in bodies', () => {
  test('law 8: no name, reference, e-mail address or National Insurance number in logs, addresses, audit or messages; none of the last in the database', async () => {
    const org = await service.organisation();
    const process = await serviceProcess({ DATABASE_URL: service.databaseUrl, ARS_SECRET: secret, ARS_LOG: 'all' });
    const consumer = client(process.url, org.key);
    const messages: string[] = [];
    const addresses: string[] = [];
    const ask = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
      const answer = await consumer.api(method, path, { body, headers });
      if (answer.body?.error !== undefined) messages.push(answer.text);
      for (const header of ['link', 'location', 'etag']) addresses.push(answer.headers[header] ?? '');
      assert.ok(answer.status < 500, `${method} ${path}: ${answer.status}`);
      return answer;
    };

    const group = (await ask('POST', '/groups', { type: 'cohort', ref: 'C1', name: groupName })).body.data.id;
    const provisioned = await ask(
      'POST',
      '/learners',
      { full_name: name, email, ref, groups: [{ type: 'cohort', ref: 'C1', name: groupName }] },
      { 'idempotency-key': `key of ${ref}` },
    );
    assert.equal(provisioned.status, 201);
    addresses.push(provisioned.body.data.assessment_url);
    await ask('POST', '/learners', { full_name: renamed, email, ref }, { 'idempotency-key': `another key of ${ref}` });
    await ask('POST', '/learners', { full_name: renamed, email, ref }, { 'idempotency-key': `key of ${ref}` });
    await ask('GET', `/learners/${ref}`);
    await ask('GET', `/learners/${ref}-nobody`);
    await ask('GET', `/assessments?learner_ref=${ref}&limit=1`);
    await ask('GET', `/assessments?learner_ref=${encodeURIComponent(name)}`);
    await ask('GET', `/assessments?learner_ref=${encodeURIComponent(email)}`);
    await ask('GET', `/assessments?${encodeURIComponent(name)}=1&cursor=${ref}`);
    await ask('GET', `/${encodeURIComponent(name)}/${ref}`);
    await ask('GET', `/learners/%ff${ref}`);
    await ask('POST', `/groups/${group}/members`, { learner_refs: [ref, `${ref}-nobody`] });
    await ask('POST', `/groups/${group}/members/remove`, { learner_refs: [ref] });
    // Refused bodies of every kind, each full of it.
    await ask('POST', '/learners', { full_name: { first: name }, email, ref });
    await ask('POST', '/learners', { full_name: name, email: `${email} or so`, ref });
    await ask('POST', '/learners', { full_name: name, ref: email });
    await ask('POST', '/learners', { full_name: name, ref: 'zebedee-quillfeather' });
    await ask('POST', '/learners', { full_name: name, [name]: email });
    await ask('POST', '/learners', `{"full_name": "${name}", "ref": "${ref}"`);
    await ask('POST', '/learners', { full_name: name, groups: [{ type: groupName, ref, name: groupName }], ref });
    await ask('PATCH', `/groups/${group}`, { name: groupName.repeat(20) });
    await ask('POST', '/webhooks', { url: `http://${email}/${name}` });
    await ask('POST', '/webhooks', { url: 'https://consumer.example/', event_types: [name] });
    for (const number of numbers) {
      await ask('POST', '/learners', { full_name: `Somebody ${number}`, ref: 'L-1' });
      await ask('POST', '/learners', { full_name: 'Somebody Else', ref: number.replaceAll(' ', '.') });
      await ask('POST', '/learners', {
        full_name: 'Somebody Else',
        ref: 'L-2',
        email: `${number.replaceAll(' ', '')}@x.example`,
      });
      await ask('POST', '/learners', {
        full_name: 'Somebody Else',
        ref: 'L-3',
        groups: [{ type: 'cohort', ref: number, name: 'Cohort' }],
      });
      await ask('POST', '/learners', {
        full_name: 'Somebody Else',
        ref: 'L-3',
        groups: [{ type: 'cohort', ref: 'C3', name: number }],
      });
      await ask('POST', '/groups', { type: 'cohort', ref: number, name: 'Cohort' });
      await ask('POST', '/groups', { type: 'cohort', ref: 'C4', name: `About ${number}` });
      await ask('PATCH', `/groups/${group}`, { name: number });
      await ask('POST', `/groups/${group}/members`, { learner_refs: [number] });
      await ask('GET', `/learners/${encodeURIComponent(number)}`);
      await ask('GET', `/assessments?learner_ref=${encodeURIComponent(number)}`);
      await ask('GET', `/groups?type=${encodeURIComponent(number)}`);
      await ask('POST', '/webhooks', { url: `https://consumer.example/${encodeURIComponent(number)}` });
      const key = /^[\x20-\x7e]+$/.test(number) ? { 'idempotency-key': `about ${number}` } : undefined;
      await ask('POST', '/groups', { type: 'cohort', ref: 'C5', name: 'Cohort' }, key);
    }
    // The last lines are written when the process has had a turn to write them.
    await ask('GET', '/health');
    await ask('GET', '/health');
    await process.kill();

    const log = process.output();
    assert.match(log, /"action":"POST \/learners"/);
    const audit = (await service.app.db.query<{ row: string }>('select a::text as row from audit a'))
      .map(({ row }) => row)
      .join('\n');
    assert.match(audit, /GET \/learners/);
    for (const [where, text] of [
      ['the log', log],
      ['the audit log', audit],
      ['a message', messages.join('\n')],
      ['an address', addresses.join('\n')],
    ] as const) {
      for (const marker of markers)
        assert.ok(!text.toLowerCase().includes(marker), `law 8: ${where} holds "${marker}"`);
    }
    assert.ok(messages.length > 30);
  });

  test('law 8: no column of the database holds a value shaped like a National Insurance number', async () => {
    const columns = await service.app.db.query<{ table_name: string; column_name: string }>(`
      select table_name, column_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
       where table_schema = 'public' and table_type = 'BASE TABLE' and data_type in ('text', 'character varying', 'ARRAY', 'json', 'jsonb')`);
    assert.ok(columns.length > 30);
    let looked = 0;
    for (const { table_name, column_name } of columns) {
      for (const { value } of await service.app.db.query<{ value: string }>(
        `select distinct "${column_name}"::text as value from "${table_name}" where "${column_name}" is not null`,
      )) {
        looked++;
        assert.ok(!holdsNumber(value), `law 8: ${table_name}.${column_name} holds a National Insurance number`);
      }
    }
    assert.ok(looked > 20);
  });
});
