import { WriteQueueRefusal } from '../../../src/platform/db/write-queue.ts';
import type { App } from '../../../src/platform/app.ts';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder } from '../../../src/platform/db/embedded/folder.ts';
import { type FileLock, tryLock, waitForLock } from '../../../src/platform/db/embedded/file-lock.ts';
import { type Service, startService } from '../../../src/main.ts';
import { type OpenApp, openApp } from '../../../src/server/open-app.ts';
import { fastRandom, seededRandom, systemRandom } from '../../../src/platform/crypto/random.ts';
import { apiBase } from '../../../src/platform/config/settings.ts';
import { Activity } from '../../../src/sandbox/activity.ts';
import { ChaosChanges } from '../../../src/sandbox/chaos/troubles.ts';
import { type ChaosKind, disturb, disturbSender, faultShares, readKinds } from '../../../src/sandbox/chaos/chaos.ts';
import { type Sandbox, openSandbox, recentSince, resetSandbox, sandboxOwner } from '../../../src/sandbox/sandbox.ts';
import { totpCode } from '../../../src/organisations/users/totp.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { formatMs } from '../../../src/platform/time/clock.ts';
import { errorFields } from '../../../src/platform/observability/log.ts';
import { type Call, type Command, type Values, command, Failure, Misuse } from '../../kit/command.ts';
import { operator, organisationOf, withApp } from '../../kit/open.ts';
import { count, flag, or, parsed, text } from '../../kit/options.ts';
import { tableOf } from '../../kit/table.ts';
import { findSandbox, listSandboxRequests } from '../../../src/organisations/sandboxes.ts';
import { grantSandbox } from '../../../src/sandbox/own.ts';
import { createSender } from '../../../src/integrations/webhooks/http/send.ts';
import { refuseBusyPort } from '../../kit/port.ts';
import { terminal } from '../../kit/terminal.ts';
import { typeable } from '../../kit/help.ts';

const options = {
  learners: or(count(1, 10_000_000), 2000),
  activity: or(count(0, 60_000), 0),
  chaos: { ...parsed('KIND,…', '', readKinds), isBare: true },
  seed: text('TEXT'),
  reset: flag,
};

/** Faults that the sandbox makes on purpose. Runs with equal seeds make equal faults. */
type Chaos = { kinds: ReadonlySet<ChaosKind>; seed: string };

function chaosInWords({ kinds, seed }: Chaos): string {
  const share = faultShares.reduce((sum, [kind, one]) => sum + (kinds.has(kind) ? one : 0), 0);
  const requests = share === 0 ? '' : `One request in ${Math.round(1 / share)} goes wrong on purpose. `;
  return `${requests}Chaos: ${[...kinds].join(', ')}. The same again: --seed ${seed}`;
}

const shown = (count: number): string => count.toLocaleString('en-GB');

function welcome({ app }: Service, sandbox: Sandbox, since: string, activity: number, chaos: Chaos | null): string {
  const url = app.settings.baseUrl;
  const code = totpCode(sandbox.owner.totp_secret, app.clock.nowMs());
  const curl = 'curl -s -H "X-Access-Key-Id: $ACCESS_KEY_ID" -H "X-Secret-Access-Key: $SECRET_ACCESS_KEY"';
  return `
${sandbox.organisation.name}: ${shown(sandbox.plan.total)} learners${activity > 0 ? `, ${activity} changes a minute` : ''}${
    chaos === null ? '' : `\n${chaosInWords(chaos)}`
  }

  Organisation       ${sandbox.organisation.public_id}
  Documentation      ${url}/docs/

  Console            ${url}/console
  Email address      ${sandbox.owner.email}
  Password           ${sandbox.owner.password}
  Code               ${code}, for half a minute; a new one: ars sandbox code
  Authenticator key  ${sandbox.owner.totp_secret}

Paste these lines into another terminal:

  export API=${url}${apiBase}
  export ACCESS_KEY_ID=${sandbox.keyId}
  export SECRET_ACCESS_KEY=${sandbox.secret}

Then try the API:

  ${curl} "$API/health"
  ${curl} "$API/assessments?limit=2"
  ${curl} -i "$API/assessments?since=${since}"

Stop with Ctrl+C.
`;
}

async function repeat(
  { app: { log } }: Service,
  everyMs: number,
  signal: AbortSignal,
  change: () => Promise<string | null>,
): Promise<void> {
  for (;;) {
    await delay(everyMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      const kind = await change();
      if (kind !== null) log.info('sandbox.change', { kind });
    } catch (error) {
      // A busy service refuses a change. The next change comes later.
      if (!(error instanceof WriteQueueRefusal)) log.error('sandbox.change_failed', errorFields(error));
    }
  }
}

function beActive(service: Service, sandbox: Sandbox, perMinute: number, signal: AbortSignal): Promise<void> {
  const { app } = service;
  const { organisation, plan } = sandbox;
  const activity = new Activity(app, organisation, plan, plan.total, fastRandom(app.random.uuid()));
  return repeat(service, 60_000 / perMinute, signal, () => activity.step());
}

const chaosEveryMs = 5000;

async function beChaotic(service: Service, sandbox: Sandbox, chaos: Chaos, signal: AbortSignal): Promise<void> {
  const { app } = service;
  disturb(service.http!.fastify.server, chaos.kinds, seededRandom(`${chaos.seed} requests`), (fault) =>
    app.log.info('sandbox.fault', { fault }),
  );
  const changes = new ChaosChanges(app, sandbox.organisation, chaos.kinds, seededRandom(`${chaos.seed} changes`));
  if (changes.kinds.length > 0) await repeat(service, chaosEveryMs, signal, () => changes.step());
  await changes.close();
}

type Calling = Call<Values<typeof options>>;

function readChaos({ options: { chaos: kinds, seed } }: Calling): Chaos | null {
  if (kinds === undefined && seed !== undefined) throw new Misuse('--seed goes with --chaos');
  return kinds === undefined ? null : { kinds, seed: seed ?? systemRandom.uuid().slice(0, 8) };
}

/** Creates the sandbox with its first learners. The lock keeps other commands from creating it at the same time. */
async function makeSandbox({ app }: OpenApp, call: Calling): Promise<{ sandbox: Sandbox; lock: FileLock }> {
  await makeFolder(app.settings.dataDir);
  const path = join(app.settings.dataDir, 'sandbox.lock');
  let lock = tryLock(path, 'exclusive');
  if (lock === null) {
    call.step('Another sandbox on this data folder is making its learners: waiting for it …');
    lock = await waitForLock(path, 'exclusive', call.signal);
  }
  try {
    if (call.options.reset) await resetSandbox(app);
    call.step('Preparing the learners and their results …');
    return { sandbox: await openSandbox(app, call.options.learners), lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function senderOf(app: App, chaos: Chaos | null) {
  const sender = createSender({ clock: app.clock, allowNetworks: app.settings.webhookAllowNetworks });
  const onFault = (fault: string) => app.log.info('sandbox.fault', { fault });
  return chaos === null
    ? sender
    : disturbSender(sender, chaos.kinds, seededRandom(`${chaos.seed} deliveries`), onFault);
}

async function run(call: Calling) {
  const { activity: perMinute } = call.options;
  const chaos = readChaos(call);
  const settings = readSettings({ ARS_LOG: 'errors', ...terminal().environment });
  await refuseBusyPort(settings, 'all');
  call.step('Starting the database …');
  const opened = await openApp(settings);
  const made = await makeSandbox(opened, call).catch(async (error: unknown) => {
    await opened.close();
    if (!call.signal.aborted) throw error;
    return null;
  });
  if (made === null) return { json: { stopped: true }, text: '' };
  const { app } = opened;
  const { sandbox, lock } = made;
  const service = await startService(opened, 'all', { sender: senderOf(app, chaos) });
  call.progress('');
  let filled = 0;
  let hasFilled = false;
  try {
    const { organisation_id: id } = sandbox.organisation;
    const since = (await recentSince(app, id)) ?? formatMs(app.clock.nowMs());
    if (!call.json) terminal().output.write(typeable(welcome(service, sandbox, since, perMinute, chaos)));
    filled = await sandbox.fill((done) => {
      hasFilled = true;
      call.progress(`Making learners: ${shown(done)} of ${shown(sandbox.plan.total)}`);
    }, call.signal);
  } catch (error) {
    await service.stop();
    throw error;
  } finally {
    lock.release();
  }
  if (hasFilled && !call.signal.aborted) call.step(`All ${shown(filled)} learners are there.`);
  const url = app.settings.baseUrl;
  const ready = {
    base_url: `${url}${apiBase}`,
    organisation_id: sandbox.organisation.public_id,
    access_key_id: sandbox.keyId,
    secret_access_key: sandbox.secret,
    learners: filled,
    console_url: `${url}/console`,
    owner: sandbox.owner,
  };
  // Scripts wait for this line, which is printed when all learners are there.
  if (call.json) terminal().output.write(`${JSON.stringify(ready)}\n`);
  const active = [
    perMinute > 0 ? beActive(service, sandbox, perMinute, call.signal) : null,
    chaos === null ? null : beChaotic(service, sandbox, chaos, call.signal),
  ];
  if (!call.signal.aborted) await once(call.signal, 'abort');
  await Promise.all(active);
  await service.stop();
  return { json: ready, text: '' };
}

export const commands: Command[] = [
  command({
    name: 'sandbox',
    summary: 'Run the service with an example organisation',
    notes: 'The first start makes the organisation, its learners, results and an access key, and prints the key.',
    examples: ['', '--learners 500 --activity 30'],
    about: {
      learners: 'The number of learners',
      activity: 'Changes per minute',
      chaos: 'Lets requests and deliveries fail on purpose. KIND limits how',
      seed: 'The text that decides which example data is made',
      reset: 'Deletes the data of the sandbox and makes it again',
    },
    options,
    run,
  }),
  command({
    name: 'sandbox grant',
    summary: 'Give an organisation a sandbox of its own',
    notes:
      'The sandbox has test data and the same people. Without --organisation, the command lists who has asked for one.',
    examples: ['', '--organisation $ORG'],
    about: { organisation: "The organisation's ID" },
    options: { organisation: text('ID') },
    run: ({ options: { organisation: id } }) =>
      withApp(async (app) => {
        if (id === undefined) {
          const requests = await listSandboxRequests(app.db);
          return {
            json: { data: requests.map(({ public_id: organisation_id, asked_at }) => ({ organisation_id, asked_at })) },
            text: tableOf(requests, [['organisation_id', 'public_id'], 'asked_at', 'name']),
          };
        }
        const found = await organisationOf(app, id);
        if ((await findSandbox(app.db, found.organisation_id)).is_one)
          throw new Failure('This organisation is a sandbox itself.');
        const by = { actor: operator, action: 'sandbox grant', requestId: app.random.uuid() };
        const organisationId = await grantSandbox(app, found, by);
        return { json: { organisation_id: organisationId }, text: organisationId };
      }),
  }),
  command({
    name: 'sandbox code',
    summary: "Print the owner's sign-in code for the sandbox's console",
    examples: ['', '--json'],
    run: () =>
      withApp(async (app) => {
        const owner = await sandboxOwner(app);
        if (owner === null) throw new Failure('There is no sandbox in this data folder: ars sandbox makes one.');
        const code = totpCode(owner.totp_secret, app.clock.nowMs());
        return { json: { code }, text: code };
      }),
  }),
];
