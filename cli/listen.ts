import type { App } from '../src/app.ts';
import type { EventType } from '../src/events/emit.ts';
import { followEvents, lastEvent } from '../src/events/follow.ts';
import { listOrganisations } from '../src/organisations/organisations.ts';
import { uuidOf } from '../src/random.ts';
import type { Forwarded, Forwarder } from '../src/webhooks/forward.ts';
import { createForwarder, parseForwardTo } from '../src/webhooks/forward.ts';
import { sampleEvent } from '../src/webhooks/samples.ts';
import { eventTypes } from '../src/events/emit.ts';
import { newSecret } from '../src/webhooks/signing.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, numberOption, option, organisationOf, requiredOption, withApp } from './open.ts';

function typesOption(call: Call, name: string): EventType[] | undefined {
  const text = option(call, name);
  if (text === undefined) return undefined;
  const types = [...new Set(text.split(',').map((type) => type.trim()))];
  if (!types.every((type) => (eventTypes as readonly string[]).includes(type)))
    throw new Misuse(`--${name} must be one or more of ${eventTypes.join(', ')}, with commas between`);
  return types as EventType[];
}

function addressOption(call: Call): URL {
  try {
    return parseForwardTo(requiredOption(call, 'forward-to'));
  } catch (error) {
    if (error instanceof RangeError) throw new Misuse(`--forward-to ${error.message}`);
    throw error;
  }
}

/** The organisation that is named, or the only one that there is. */
async function organisationToFollow(app: App, id: string | undefined) {
  if (id !== undefined) return organisationOf(app, id);
  const all = await listOrganisations(app.db);
  if (all.length === 1) return all[0]!;
  throw new Failure(
    all.length === 0
      ? 'there is no organisation yet; ars sandbox or ars organisation create makes one'
      : `there are ${all.length} organisations; say which with --organisation ID (ars organisation list shows them)`,
  );
}

type Result = {
  event: string;
  delivery_id: string;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
};

function line(result: Result): string {
  return `${result.event.padEnd(22)}  ${result.delivery_id}  ${result.error ?? result.status_code}  ${result.duration_ms} ms`;
}

export const commands: Command[] = [
  {
    name: 'listen',
    usage:
      '--forward-to URL [--organisation ID] [--events TYPE,…] [--trigger TYPE,…] [--check] [--secret whsec_…] [--count N]',
    summary: "Forward an organisation's events, signed, to an address on this machine, and say how each was answered",
    options: {
      'forward-to': { type: 'string' },
      organisation: { type: 'string' },
      events: { type: 'string' },
      trigger: { type: 'string' },
      check: { type: 'boolean' },
      secret: { type: 'string' },
      count: { type: 'string' },
    },
    run: (call) => {
      const url = addressOption(call);
      const types = typesOption(call, 'events') ?? [...eventTypes];
      const samples = typesOption(call, 'trigger') ?? [];
      const given = option(call, 'secret');
      if (given !== undefined && !/^whsec_[\w-]{16,200}$/.test(given))
        throw new Misuse('--secret must be whsec_ and at least 16 letters, digits, - or _');
      const most = numberOption(call, 'count', Number.MAX_SAFE_INTEGER, 1, 1_000_000_000);
      return withApp(async (app) => {
        const secret = given ?? newSecret(app.random);
        const forwarder = createForwarder(url, secret, app.clock, call.signal);
        try {
          return await listen(call, app, forwarder, { secret, types, samples, most });
        } finally {
          await forwarder.close();
        }
      });
    },
  },
];

async function listen(
  call: Call,
  app: App,
  forwarder: Forwarder,
  { secret, types, samples, most }: { secret: string; types: EventType[]; samples: EventType[]; most: number },
) {
  // With --json standard output is kept for the one value at the end.
  const say = (text: string) => {
    (call.json ? process.stderr : process.stdout).write(`${text}\n`);
  };
  const results: Result[] = [];
  const tally = { forwarded: 0, failed: 0 };
  const note = (event: string, forwarded: Forwarded) => {
    const result = {
      event,
      delivery_id: forwarded.deliveryId,
      status_code: forwarded.statusCode,
      duration_ms: forwarded.durationMs,
      error: forwarded.error,
    };
    tally[forwarded.error === null ? 'forwarded' : 'failed'] += 1;
    if (results.length < 1000) results.push(result);
    say(line(result));
  };
  say(`Signing secret: ${secret}`);

  const sampleOf = (type: EventType) =>
    sampleEvent(type, { nowMs: app.clock.nowMs(), random: app.random, baseUrl: app.settings.baseUrl });
  let checks: Awaited<ReturnType<Forwarder['probe']>> | null = null;
  if (call.options.check === true) {
    checks = await forwarder.probe(sampleOf('learner.groups.updated'), () => app.random.uuid());
    for (const check of checks)
      say(
        `${check.refused ? 'refused, as it must be' : 'NOT REFUSED'}: ${check.probe} (${check.statusCode ?? check.error})`,
      );
  }
  for (const type of samples) note(type, await forwarder.forward(app.random.uuid(), sampleOf(type)));

  const wanted = option(call, 'organisation');
  // Samples and checks need no organisation: without one named they are the whole of the work.
  if (wanted !== undefined || (samples.length === 0 && checks === null)) {
    const organisation = await organisationToFollow(app, wanted);
    await act(app, organisation.organisation_id, 'listen', async () => ({ result: null, resource: null }));
    const from = await lastEvent(app.db, organisation.organisation_id);
    say(`Forwarding ${types.join(' and ')} of ${organisation.public_id} from now on; Ctrl-C ends.`);
    const events = followEvents(app.db, organisation.organisation_id, from, types, call.signal);
    let seen = 0;
    while (seen < most) {
      const next = await events.next();
      if (next.done === true) break;
      note(next.value.type, await forwarder.forward(uuidOf('listen', next.value.event_id), next.value.payload));
      seen += 1;
    }
    await events.return(undefined);
  }
  const passed = checks === null || checks.every((check) => check.refused);
  return {
    json: {
      secret,
      ...tally,
      results,
      ...(checks === null
        ? {}
        : {
            checks: checks.map(({ probe, refused, statusCode, error }) => ({
              probe,
              refused,
              status_code: statusCode,
              error,
            })),
          }),
    },
    text: '',
    exitCode: passed && (tally.failed === 0 || wanted !== undefined || samples.length === 0) ? 0 : 1,
  };
}
