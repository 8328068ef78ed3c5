// Tier: full. Runs two releases as processes.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sync } from '../../../client/src/index.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { assertSame, clientOf, heldBy, memoryStore, truth } from '../../client/support/mirrors.ts';
import { client } from '../../contract/support/client.ts';
import { answer, caFile, startReceiver } from '../../integrations/webhooks/receiver.ts';
import { program } from '../../support/ars.ts';
import { freePort } from '../../support/ports.ts';
import { freshDatabase, withDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';
import { password, visitor } from '../../web/console/visitor.ts';
import { Visitor } from '../../web/player/visitor.ts';
import { read } from '../../support/structure/source-tree.ts';
import { readyProcess } from '../world/processes.ts';
import { type FirstRelease, firstRelease } from './first-release.ts';

const release = firstRelease();
after(() => release?.remove());
const people = 200;

/** A training provider whose data only 1.0.0 has written. */
async function filledBy({ ars }: FirstRelease, environment: Record<string, string>) {
  await ars(['migrate'], environment);
  const organisation = await ars(
    ['organisation', 'create', '--name', 'Riverside College', '--plan', 'unlimited'],
    environment,
  );
  const of = ['--organisation', organisation.organisation_id];
  const folder = mkdtempSync(join(tmpdir(), 'ars-results-'));
  const [example] = read('examples/import/results.ndjson').split('\n');
  const results = Array.from({ length: people }, (_, n) => ({
    ...JSON.parse(example!),
    learner: { ref: `L-${n}`, full_name: `Learner ${n}` },
  }));
  const file = join(folder, 'results.ndjson');
  writeFileSync(file, results.map((one) => `${JSON.stringify(one)}\n`).join(''));
  await ars(['results', 'import', ...of, file], environment);
  rmSync(folder, { recursive: true });
  const invited = await ars(
    ['user', 'invite', ...of, '--email', 'ana@college.example', '--role', 'tutor'],
    environment,
  );
  return { key: await ars(['key', 'create', ...of], environment), invited, organisation };
}

const opts = { skip: release === null && 'The history of the repository is not here.' };
test(
  'law 1: a database of 1.0.0 is upgraded under a client, with sessions, sittings and deliveries',
  opts,
  async (t) => {
    const receiver = await startReceiver({ behaviour: answer(503) });
    t.after(() => receiver.close());
    const database = await freshDatabase(await thisServer(), { migrated: false });
    t.after(() => database.drop());
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const environment = {
      DATABASE_URL: database.url,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_BASE_URL: url,
      ARS_RATE_LIMIT: '1000000',
      ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      ARS_WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s',
      NODE_EXTRA_CA_CERTS: caFile,
    };
    const { key, invited, organisation } = await filledBy(release!, environment);
    const old = await release!.start(environment, port);
    t.after(() => old.stop());
    const platform = client(url, key);
    const service = { url, logged: [] };

    // A session, two sittings and deliveries that wait.
    const ana = visitor(service);
    await ana.post(new URL(invited.url).pathname, { full_name: 'Ana Silva', password });
    const home = `/console/${organisation.organisation_id}`;
    assert.equal((await ana.get(home)).status, 200);
    const hook = await platform.post('/webhooks', { url: receiver.url, event_types: ['assessment.completed'] });
    assert.equal(hook.status, 201, hook.text);
    const sitting = async (ref: string) => {
      const { body } = await platform.post('/learners', { ref, full_name: 'Sitting Learner' });
      const page = new Visitor(service, new URL(body.data.assessment_url).pathname.slice('/a/'.length));
      await page.get();
      await page.post('/start');
      return page;
    };
    /** Answers a question with its first options; skips one that asks for something else. */
    const answers = async (page: Visitor) => {
      const [at, fields] = [page.heading(), new Map<string, string>()];
      for (const [tag] of page.text.matchAll(/<(?:input|select)[^>]*>/g)) {
        const [, name] = / name="([^"]+)"/.exec(tag) ?? [];
        const [, value = tag.startsWith('<select') ? '1' : '5'] = / value="([^"]+)"/.exec(tag) ?? [];
        if (name !== undefined && !tag.includes('type="hidden"') && !fields.has(name)) fields.set(name, value);
      }
      await page.sends(Object.fromEntries(fields));
      if (page.path === '/question' && page.heading() === at) await skips(page);
    };
    const skips = async (page: Visitor) => {
      await page.sends({}, 'skip');
      return page.sends({}, 'skip-now');
    };
    const ends = async (page: Visitor) => {
      while (page.path === '/question') await answers(page);
      await page.post('/finish', { ...page.hidden(), own: 'yes' });
      assert.match(page.heading(), /^Your Digital skills result/);
    };
    const [finished, paused, across] = [await sitting('S-1'), await sitting('S-2'), await sitting('S-3')];
    await ends(finished);
    await skips(paused);

    const store = memoryStore();
    const stopping = new AbortController();
    const lost: string[] = [];
    let before = new Map<string, unknown>();
    let polls = 0;
    const mirror = sync({
      signal: stopping.signal,
      client: clientOf(url, key),
      store,
      everyMs: 20,
      onReport(report) {
        if ('failed' in report) return;
        polls++;
        const now = heldBy(store);
        lost.push(...[...before.keys()].filter((id) => !now.has(id)));
        before = now;
      },
    });
    t.after(() => (stopping.abort(), mirror.done));
    const pollsAgain = async () => {
      for (const goal = polls + 3; polls < goal; await delay(10)) mirror.wake();
    };
    await pollsAgain();
    const wanted = await truth(clientOf(url, key));
    assert.equal(wanted.size, people + 1);

    // The newest schema, while 1.0.0 still serves it.
    await withDatabase(database.url, (db) => migrate(db, systemClock));
    assert.equal((await platform.post('/learners', { ref: 'L-1', full_name: 'New Name' })).status, 201);
    assert.match((await skips(across)).heading(), /^Question 2/);
    assert.equal((await ana.get(home)).status, 200);
    await pollsAgain();
    await old.stop();

    const next = await readyProcess([program, 'serve'], environment, port);
    t.after(() => next.stop());
    const refused = receiver.received.length;
    assert.ok(refused > 0);
    receiver.behave(answer(204));
    assert.equal((await ana.get(home)).status, 200, 'the session has ended');
    for (const page of [paused, across]) {
      await page.get('/question');
      assert.match(page.heading(), /^Question 2/);
      await ends(page);
    }
    const ids = async () => {
      const { body } = await platform.get('/assessments?limit=500');
      return body.data.filter((one: any) => one.learner.ref.startsWith('S-')).map((one: any) => one.assessment_id);
    };
    const recorded: string[] = await ids();
    assert.equal(recorded.length, 3);
    const delivered = () => {
      const told = receiver.received.slice(refused).map((one) => JSON.parse(one.body.toString()).data.assessment_id);
      return recorded.every((id) => told.includes(id));
    };
    while (!delivered()) await delay(50);
    await pollsAgain();
    const { isProven, results } = await mirror.verify();
    assert.deepEqual([isProven, results, lost], [true, people + 3, []]);
    assertSame(heldBy(store), await truth(clientOf(url, key)), 'after the upgrade');
  },
);
