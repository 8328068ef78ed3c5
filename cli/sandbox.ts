import { once } from 'node:events';
import type { Service } from '../src/main.ts';
import { openApp, startService } from '../src/main.ts';
import { fastRandom } from '../src/random.ts';
import { Activity } from '../src/sandbox/activity.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { openSandbox, resetSandbox } from '../src/sandbox/sandbox.ts';
import { readSettings } from '../src/settings.ts';
import { formatMs } from '../src/clock.ts';
import { errorFields } from '../src/log.ts';
import type { Call, Command } from './command.ts';
import { numberOption } from './open.ts';

function welcome(url: string, sandbox: Sandbox, since: string, activity: number): string {
  const headers = `-H 'X-Access-Key-Id: ${sandbox.keyId}' -H 'X-Secret-Access-Key: ${sandbox.secret}'`;
  return `
${sandbox.organisation.name}: ${sandbox.learners.toLocaleString('en-GB')} learners${activity > 0 ? `, ${activity} changes a minute` : ''}

  Base address       ${url}/api/v1
  Organisation       ${sandbox.organisation.public_id}
  Access key id      ${sandbox.keyId}
  Secret access key  ${sandbox.secret}
  Reference          ${url}/docs

Try it:

  curl -s ${headers} ${url}/api/v1/health
  curl -s ${headers} '${url}/api/v1/assessments?limit=2'
  curl -si ${headers} '${url}/api/v1/assessments?since=${since}'

Stop with Ctrl+C.
`;
}

async function beActive(service: Service, sandbox: Sandbox, perMinute: number, signal: AbortSignal): Promise<void> {
  const { app } = service;
  const activity = new Activity(app, sandbox.organisation, sandbox.plan, sandbox.learners, fastRandom(app.random.uuid()));
  while (!signal.aborted) {
    const stopped = once(signal, 'abort').then(() => true);
    if (await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 60_000 / perMinute, false).unref())])) return;
    try {
      const kind = await activity.step();
      if (kind !== null) app.log.info('sandbox.change', { kind });
    } catch (error) {
      app.log.error('sandbox.change_failed', errorFields(error));
    }
  }
}

async function run(call: Call) {
  const learners = numberOption(call, 'learners', 2000, 1, 10_000_000);
  const perMinute = numberOption(call, 'activity', 0, 0, 60_000);
  const settings = readSettings({ ...process.env, ARS_LOG: process.env.ARS_LOG ?? 'errors' });
  call.progress('Starting the database …');
  const opened = await openApp(settings);
  let service: Service;
  let sandbox: Sandbox;
  try {
    if (call.options.reset === true) await resetSandbox(opened.app);
    sandbox = await openSandbox(opened.app, learners, (done) => call.progress(`Making learners: ${done.toLocaleString('en-GB')} of ${learners.toLocaleString('en-GB')}`), call.signal);
  } catch (error) {
    await opened.close();
    throw error;
  }
  service = await startService(opened, 'all');
  call.progress('');
  const url = service.app.settings.baseUrl;
  const ready = { base_url: `${url}/api/v1`, organisation_id: sandbox.organisation.public_id, access_key_id: sandbox.keyId, secret_access_key: sandbox.secret, learners: sandbox.learners };
  const since = formatMs(service.app.clock.nowMs());
  process.stdout.write(call.json ? `${JSON.stringify(ready)}\n` : welcome(url, sandbox, since, perMinute));
  const active = perMinute > 0 ? beActive(service, sandbox, perMinute, call.signal) : Promise.resolve();
  if (!call.signal.aborted) await once(call.signal, 'abort');
  await active;
  await service.stop();
  return { json: ready, text: '' };
}

export const commands: Command[] = [{
  name: 'sandbox', usage: '[--learners N] [--activity N] [--reset]', summary: 'Run the service with a plausible organisation in it; --activity makes N changes a minute',
  options: { learners: { type: 'string' }, activity: { type: 'string' }, reset: { type: 'boolean' } }, run,
}];
