import { once } from 'node:events';
import { join } from 'node:path';
import { makeFolder } from '../src/db/embedded/folder.ts';
import type { FileLock } from '../src/db/embedded/file-lock.ts';
import { tryLock, waitForLock } from '../src/db/embedded/file-lock.ts';
import type { Service } from '../src/main.ts';
import { openApp, startService } from '../src/main.ts';
import { fastRandom } from '../src/random.ts';
import { apiBase } from '../src/settings.ts';
import { Activity } from '../src/sandbox/activity.ts';
import { disturb, faultShares, repeatDelivery } from '../src/sandbox/chaos.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { openSandbox, recentSince, resetSandbox, sandboxOwner } from '../src/sandbox/sandbox.ts';
import { totpCode } from '../src/users/totp.ts';
import { readSettings } from '../src/settings.ts';
import { formatMs } from '../src/clock.ts';
import { errorFields } from '../src/log.ts';
import type { Call, Command } from './command.ts';
import { Failure } from './command.ts';
import { numberOption, operator, option, organisationOf, table, withApp } from './open.ts';
import { findSandbox, listSandboxRequests } from '../src/organisations/sandboxes.ts';
import { grantSandbox } from '../src/sandbox/own.ts';
import { refuseBusyPort } from './port.ts';

const shown = (count: number): string => count.toLocaleString('en-GB');

function welcome(
  url: string,
  sandbox: Sandbox,
  since: string,
  nowMs: number,
  activity: number,
  chaos: boolean,
): string {
  const headers = `-H 'X-Access-Key-Id: ${sandbox.keyId}' -H 'X-Secret-Access-Key: ${sandbox.secret}'`;
  return `
${sandbox.organisation.name}: ${shown(sandbox.plan.total)} learners${activity > 0 ? `, ${activity} changes a minute` : ''}${
    chaos
      ? `
One request in ${Math.round(1 / faultShares.reduce((sum, [, share]) => sum + share, 0))} goes wrong on purpose: answers come late, as 503, in part, or not at all; events come twice.`
      : ''
  }

  Base address       ${url}${apiBase}
  Organisation       ${sandbox.organisation.public_id}
  Access key id      ${sandbox.keyId}
  Secret access key  ${sandbox.secret}
  Documentation      ${url}/docs/

  Console            ${url}/console
  E-mail address     ${sandbox.owner.email}
  Password           ${sandbox.owner.password}
  Code               ${totpCode(sandbox.owner.totp_secret, nowMs)}, for half a minute; a new one: npm run -s ars -- sandbox code
  Authenticator key  ${sandbox.owner.totp_secret}

Try it:

  curl -s ${headers} ${url}${apiBase}/health
  curl -s ${headers} '${url}${apiBase}/assessments?limit=2'
  curl -si ${headers} '${url}${apiBase}/assessments?since=${since}'

Stop with Ctrl+C.
`;
}

/** Takes a step again and again until the sandbox is stopped; a step that fails is logged and passed over. */
async function keep(
  service: Service,
  everyMs: number,
  signal: AbortSignal,
  step: () => Promise<string | null>,
): Promise<void> {
  const { log } = service.app;
  while (!signal.aborted) {
    const stopped = once(signal, 'abort').then(() => true);
    if (await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, everyMs, false).unref())])) return;
    try {
      const kind = await step();
      if (kind !== null) log.info('sandbox.change', { kind });
    } catch (error) {
      log.error('sandbox.change_failed', errorFields(error));
    }
  }
}

function beActive(service: Service, sandbox: Sandbox, perMinute: number, signal: AbortSignal): Promise<void> {
  const { app } = service;
  const activity = new Activity(
    app,
    sandbox.organisation,
    sandbox.plan,
    sandbox.plan.total,
    fastRandom(app.random.uuid()),
  );
  return keep(service, 60_000 / perMinute, signal, () => activity.step());
}

const repeatMs = 5000;

function beChaotic(service: Service, sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const { app } = service;
  disturb(service.http!.fastify.server, apiBase, app.random, (fault) => app.log.info('sandbox.fault', { fault }));
  return keep(service, repeatMs, signal, async () =>
    (await repeatDelivery(app, sandbox.organisation.organisation_id, app.random)) ? 'delivery repeated' : null,
  );
}

async function run(call: Call) {
  const learners = numberOption(call, 'learners', 2000, 1, 10_000_000);
  const perMinute = numberOption(call, 'activity', 0, 0, 60_000);
  const settings = readSettings({ ...process.env, ARS_LOG: process.env.ARS_LOG ?? 'errors' });
  await refuseBusyPort(settings);
  call.step('Starting the database …');
  const opened = await openApp(settings);
  let sandbox: Sandbox;
  let lock: FileLock | null = null;
  try {
    await makeFolder(settings.dataDir);
    // Two that start at once make one sandbox: the second waits until the first has filled it.
    const path = join(settings.dataDir, 'sandbox.lock');
    lock = tryLock(path, 'exclusive');
    if (lock === null) {
      call.step('Another sandbox on this data folder is making its learners: waiting for it …');
      lock = await waitForLock(path, 'exclusive', call.signal);
    }
    if (call.options.reset === true) await resetSandbox(opened.app);
    call.step('Making the first learners with their results …');
    sandbox = await openSandbox(opened.app, learners);
  } catch (error) {
    lock?.release();
    await opened.close();
    if (call.signal.aborted) return { json: { stopped: true }, text: '' };
    throw error;
  }
  const service = await startService(opened, 'all');
  call.progress('');
  const url = service.app.settings.baseUrl;
  const { total } = sandbox.plan;
  const since =
    (await recentSince(service.app, sandbox.organisation.organisation_id)) ?? formatMs(service.app.clock.nowMs());
  if (!call.json)
    process.stdout.write(
      welcome(url, sandbox, since, service.app.clock.nowMs(), perMinute, call.options.chaos === true),
    );
  // A service that answers shows its first learners while the others are made.
  let filled = 0;
  let made = false;
  try {
    filled = await sandbox.fill((done) => {
      made = true;
      call.progress(`Making learners: ${shown(done)} of ${shown(total)}`);
    }, call.signal);
  } catch (error) {
    await service.stop();
    throw error;
  } finally {
    lock.release();
  }
  if (made && !call.signal.aborted) call.step(`All ${shown(filled)} learners are there.`);
  const ready = {
    base_url: `${url}${apiBase}`,
    organisation_id: sandbox.organisation.public_id,
    access_key_id: sandbox.keyId,
    secret_access_key: sandbox.secret,
    learners: filled,
    console_url: `${url}/console`,
    owner: sandbox.owner,
  };
  // A script reads one line and then counts on all of it.
  if (call.json) process.stdout.write(`${JSON.stringify(ready)}\n`);
  const active = [
    perMinute > 0 ? beActive(service, sandbox, perMinute, call.signal) : null,
    call.options.chaos === true ? beChaotic(service, sandbox, call.signal) : null,
  ];
  if (!call.signal.aborted) await once(call.signal, 'abort');
  await Promise.all(active);
  await service.stop();
  return { json: ready, text: '' };
}

export const commands: Command[] = [
  {
    name: 'sandbox',
    usage: '[--learners N] [--activity N] [--chaos] [--reset]',
    summary:
      'Run the service with a plausible organisation in it; --activity makes N changes a minute, --chaos lets requests fail',
    options: {
      learners: { type: 'string' },
      activity: { type: 'string' },
      chaos: { type: 'boolean' },
      reset: { type: 'boolean' },
    },
    run,
  },
  {
    name: 'sandbox grant',
    usage: '--organisation ID',
    summary: 'Give an organisation a sandbox of its own, with test data and the same people; without ID, list who asks',
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const id = option(call, 'organisation');
        if (id === undefined) {
          const asked = await listSandboxRequests(app.db);
          const rows = asked.map((one) => [one.public_id, one.asked_at.toISOString(), one.name]);
          return {
            json: {
              data: asked.map((one) => ({ organisation_id: one.public_id, asked_at: one.asked_at.toISOString() })),
            },
            text: table([['organisation_id', 'asked_at', 'name'], ...rows]),
          };
        }
        const found = await organisationOf(app, id);
        if ((await findSandbox(app.db, found.organisation_id)).is_one)
          throw new Failure('This organisation is a sandbox itself.');
        const by = { actor: operator, action: 'sandbox grant', requestId: app.random.uuid() };
        const organisationId = await grantSandbox(app, found, by);
        return { json: { organisation_id: organisationId }, text: organisationId };
      }),
  },
  {
    name: 'sandbox code',
    usage: '',
    summary: "Print the code with which the sandbox's owner signs in to the console",
    run: () =>
      withApp(async (app) => {
        const owner = await sandboxOwner(app);
        if (owner === null) throw new Failure('There is no sandbox in this data folder: ars sandbox makes one.');
        const code = totpCode(owner.totp_secret, app.clock.nowMs());
        return { json: { code }, text: code };
      }),
  },
];
