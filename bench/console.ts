import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { placeText } from '../src/console/place.ts';
import { inWork } from '../src/db/work.ts';
import { openApp } from '../src/open-app.ts';
import { readOrganisation } from '../src/organisations/organisations.ts';
import { grantSandbox } from '../src/sandbox/own.ts';
import { readSettings } from '../src/settings.ts';
import { findAccounts } from '../src/users/accounts.ts';
import { inviteUser } from '../src/users/invitations.ts';
import { giveSecondFactor } from '../src/users/second-factor.ts';
import { makeTotpSecret } from '../src/users/totp.ts';
import { emailOf, fillConsole, password, wholeSizes } from './console-data.ts';
import type { Places } from './console-pages.ts';
import { pagesFor, readPlaces } from './console-pages.ts';
import { isAnswer, signIn } from './console-visit.ts';
import { figure } from './figures.ts';
import { firstJson, startNode, stop } from './process.ts';

/**
 * Every page of the console, as owner, as integration developer, and as a tutor who sees a fifth of the learners, in an organisation of 100,000 learners with a million
 * results, ten million rows of the log over 90 days and 200,000 deliveries, beside writers: time until the last byte, and
 * what travels. What is there already is not filled again, so a database can be kept for the next run.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/console.ts [--results N] [--rows N]
 * [--deliveries N] [--samples N] [--only TEXT,TEXT] [--fill]
 */
const { values: given } = parseArgs({
  options: {
    results: { type: 'string' },
    rows: { type: 'string' },
    deliveries: { type: 'string' },
    samples: { type: 'string', default: '100' },
    only: { type: 'string', default: '' },
    fill: { type: 'boolean', default: false },
  },
});
const sizes = {
  ...wholeSizes,
  ...Object.fromEntries(
    (['results', 'rows', 'deliveries'] as const).flatMap((name) =>
      given[name] === undefined ? [] : [[name, Number(given[name])]],
    ),
  ),
};
const samples = Number(given.samples);
const goals = { ms: 100, traceMs: 300, bytes: 30_000, styleBytes: 15_000, scriptBytes: 3000 };

const opened = await openApp({ ...readSettings(process.env), log: 'none' });
const { app } = opened;
const tell = (step: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${step}`);
  else process.stderr.write(`${step}\n`);
};
const organisation = await fillConsole(app, sizes, tell);
const id = organisation.organisation_id;
tell('');

/** Places in the list of invitations as the tutor's addresses carry them. */
async function sealed(places: readonly string[]): Promise<string[]> {
  const [session] = await findAccounts(app.db, emailOf('tutor'));
  const reader = {
    app,
    organisation: { organisation_id: id },
    path: `/console/${organisation.public_id}/invitations`,
    session: session!,
  };
  return places.map((place) => placeText(reader, [], place));
}

type Line = { name: string; role: string; status: string; p50: number; p99: number; bytes: number; over: string[] };

async function measure(url: string, role: string, places: Places, only = given.only): Promise<Line[]> {
  const totpSecret = makeTotpSecret(app.random);
  const [account] = await findAccounts(app.db, emailOf(role));
  await inWork(app, null, (work) => giveSecondFactor(work, account!.user_id, totpSecret));
  const visitor = await signIn(url, { email: emailOf(role), password, totpSecret, nowMs: app.clock.nowMs() });
  const lines: Line[] = [];
  for (const page of pagesFor(role, places)) {
    if (!only.split(',').some((text) => page.name.includes(text))) continue;
    // A run takes longer than a proof lasts, and opens the pages of signing in more often than anybody may.
    await app.db.query('update user_session set proved_at = $1, last_seen_at = $1', [new Date(app.clock.nowMs())]);
    await app.db.query('delete from sign_in_attempts');
    const all = [];
    await visitor.open(page, 0);
    for (let n = 0; n < samples; n++) {
      const opened = await visitor.open(page, n);
      all.push(opened);
      // No faster than one address may (limits.consolePagesPerAddress).
      await wait(Math.max(0, 22 - opened.ms));
    }
    const sorted = all.map(({ ms }) => ms).sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    const bytes = Math.max(...all.map((one) => (one.type.startsWith('text/html') ? one.bytes : 0)));
    const p99 = at(0.99);
    const statuses = [...new Set(all.map((one) => one.status))].sort();
    lines.push({
      name: page.name,
      role,
      status: statuses.join(),
      p50: at(0.5),
      p99,
      bytes,
      over: [
        ...(all.every((one) => isAnswer(page, one)) ? [] : ['status']),
        ...(p99 > (page.name.includes('/trace') ? goals.traceMs : goals.ms) ? ['time'] : []),
        ...(bytes > goals.bytes ? ['bytes'] : []),
      ],
    });
    const line = lines.at(-1)!;
    console.log(
      `${line.over.length > 0 ? '!' : ' '} ${role.padEnd(9)} ${line.status.padEnd(4)} p50 ${line.p50.toFixed(1).padStart(7)} ms  p99 ${line.p99.toFixed(1).padStart(7)} ms  ${String(bytes).padStart(6)} B  ${page.name} ${line.over.join(' ')}`,
    );
  }
  for (const { path, bytes } of await visitor.assets()) {
    const goal = path.endsWith('.css') ? goals.styleBytes : goals.scriptBytes;
    console.log(`${bytes > goal ? '!' : ' '} ${role.padEnd(9)} ${bytes} B  ${path} (goal ${goal})`);
  }
  await visitor.close();
  return lines;
}

if (!given.fill) {
  const by = { actor: 'bench', action: 'sandbox grant', requestId: app.random.uuid() };
  const sandbox = await grantSandbox(app, await readOrganisation(app.db, id), by);
  const invited = await inWork(app, null, (work) =>
    inviteUser(work, id, { email: 'new@bench.example', role: 'tutor', invitedBy: 'operator', again: true }),
  );
  const token = typeof invited === 'string' ? '' : invited.token;
  const service = startNode(0, [new URL('service.ts', import.meta.url).pathname], {
    ARS_LOG: 'errors',
    BENCH_ORGANISATION: organisation.public_id,
  });
  const { port, ...pair } = await firstJson<{ port: number; access_key_id: string; secret_access_key: string }>(
    service,
  );
  const url = `http://127.0.0.1:${port}`;
  const calls = {
    'x-access-key-id': pair.access_key_id,
    'x-secret-access-key': pair.secret_access_key,
    'content-type': 'application/json',
  };
  const here = new URL('console-writer.ts', import.meta.url).pathname;
  const writer = startNode(1, [here, organisation.public_id, String(port), String(sizes.results)], {
    BENCH_CALLS: JSON.stringify(calls),
  });
  try {
    const lines: Line[] = [];
    for (const role of ['owner', 'developer', 'tutor']) {
      const places = await readPlaces(app.db, id, { organisation: [organisation.public_id], token: [token] });
      if (role === 'tutor') places.invitation_place = await sealed(places.invitation_place!);
      lines.push(...(await measure(url, role, places)));
    }
    const inSandbox = await readPlaces(app.db, id, { organisation: [sandbox], token: [token] });
    lines.push(...(await measure(url, 'owner', inSandbox, '/test-result')));
    if (writer.exitCode !== null) throw new Error('Nobody wrote beside: the writer has ended.');
    const over = lines.filter((line) => line.over.length > 0);
    console.log(`${lines.length} kinds of page, ${over.length} over a goal`);
    const worst = (pick: (line: Line) => number) => Math.max(...lines.map(pick));
    figure('kinds of page over their goal', over.length, `of ${lines.length}`, { atMost: 0 });
    figure(
      'slowest page, p99',
      worst(({ p99 }) => p99),
      'ms',
      { atMost: goals.ms },
    );
    figure('largest page, compressed', worst(({ bytes }) => bytes) / 1000, 'kB', { atMost: 30 });
    console.log(`largest ${worst(({ bytes }) => bytes)} B, slowest p99 ${worst(({ p99 }) => p99).toFixed(1)} ms`);
  } finally {
    await stop(writer);
    await stop(service);
  }
}
await opened.close();
