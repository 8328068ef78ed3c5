import type { App } from '../src/app.ts';
import { systemClock } from '../src/clock.ts';
import { followEvents, newestEvent } from '../src/events/follow.ts';
import { listOrganisations } from '../src/organisations/organisations.ts';
import { systemRandom, uuidOf } from '../src/random.ts';
import { isUuid } from '../src/uuid.ts';
import type { Forwarded, Forwarder } from '../src/webhooks/forward.ts';
import { createForwarder, parseForwardTo } from '../src/webhooks/forward.ts';
import { sampleEvent } from '../src/webhooks/samples.ts';
import { newSecret } from '../src/webhooks/signing.ts';
import { accessOption } from './access.ts';
import type { Call, Command, Output } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { listenByKey } from './listen-by-key.ts';
import { act, numberOption, option, organisationOf, requiredOption, withApp } from './open.ts';
import { terminal } from './terminal.ts';
import type { EventType } from '../src/event-types.ts';
import { eventTypes, learnerGroupsUpdated } from '../src/event-types.ts';

function typesOption(call: Call, name: string): EventType[] | undefined {
  const text = option(call, name);
  if (text === undefined) return undefined;
  const types = [...new Set(text.split(',').map((type) => type.trim()))];
  if (!types.every((type) => (eventTypes as readonly string[]).includes(type)))
    throw new Misuse(`--${name} must be one or more of ${eventTypes.join(', ')}, with commas between`);
  return types as EventType[];
}

export function addressOption(call: Call): URL {
  try {
    return parseForwardTo(requiredOption(call, 'forward-to'));
  } catch (error) {
    if (error instanceof RangeError) throw new Misuse(`--forward-to ${error.message}`);
    throw error;
  }
}

function groupsOption(call: Call): string | undefined {
  const text = option(call, 'groups');
  if (text !== undefined && !text.split(',').every((id) => isUuid(id.toLowerCase())))
    throw new Misuse('--groups must be ids of groups, with commas between');
  return text;
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

/** What was asked for, whichever way the events come. */
type Asked = { types: EventType[] | undefined; samples: EventType[]; secret: string | undefined; most: number };

const mostListed = 1000;

/** What is said while it runs, and what is told at the end. */
class Session {
  readonly forwarder: Forwarder;
  readonly tally = { forwarded: 0, failed: 0 };
  readonly #call: Call;
  readonly #results: Result[] = [];
  #checks: Awaited<ReturnType<Forwarder['probe']>> | null = null;

  constructor(call: Call, url: URL) {
    this.#call = call;
    this.forwarder = createForwarder(url, systemClock, call.signal);
  }

  // With --json standard output is kept for the one value at the end.
  say(text: string): void {
    (this.#call.json ? terminal().errors : terminal().output).write(`${text}\n`);
  }

  note(event: string, forwarded: Forwarded): void {
    const result = {
      event,
      delivery_id: forwarded.deliveryId,
      status_code: forwarded.statusCode,
      duration_ms: forwarded.durationMs,
      error: forwarded.error,
    };
    this.tally[forwarded.error === null ? 'forwarded' : 'failed'] += 1;
    if (this.#results.length < mostListed) this.#results.push(result);
    this.say(line(result));
  }

  /** Deliveries that a receiver must refuse, and samples, signed with the secret. */
  async begin(secret: string, samples: EventType[], baseUrl: string): Promise<void> {
    this.say(`Signing secret: ${secret}`);
    const sampleOf = (type: EventType) =>
      sampleEvent(type, { nowMs: systemClock.nowMs(), random: systemRandom, baseUrl });
    if (this.#call.options.check === true) {
      this.#checks = await this.forwarder.probe(secret, sampleOf(learnerGroupsUpdated), () => systemRandom.uuid());
      for (const check of this.#checks)
        this.say(
          `${check.refused ? 'refused, as it must be' : 'NOT REFUSED'}: ${check.probe} (${check.statusCode ?? check.error})`,
        );
    }
    for (const type of samples)
      this.note(type, await this.forwarder.forward(secret, systemRandom.uuid(), sampleOf(type)));
  }

  /** @param onlySamples whether nothing else was asked for, so that each must have been taken */
  output(secret: string, onlySamples: boolean): Output {
    const passed = this.#checks?.every((check) => check.refused) ?? true;
    const checks = this.#checks?.map(({ probe, refused, statusCode, error }) => ({
      probe,
      refused,
      status_code: statusCode,
      error,
    }));
    return {
      json: { secret, ...this.tally, results: this.#results, ...(checks === undefined ? {} : { checks }) },
      text: '',
      exitCode: passed && (this.tally.failed === 0 || !onlySamples) ? 0 : 1,
    };
  }
}

async function listenInDatabase(call: Call, session: Session, asked: Asked): Promise<Output> {
  return withApp(async (app) => {
    const secret = asked.secret ?? newSecret(app.random);
    const types = asked.types ?? [...eventTypes];
    await session.begin(secret, asked.samples, app.settings.baseUrl);
    const wanted = option(call, 'organisation');
    // Samples and checks need no organisation: without one named they are the whole of the work.
    const onlySamples = wanted === undefined && (asked.samples.length > 0 || call.options.check === true);
    if (!onlySamples) {
      const organisation = await organisationToFollow(app, wanted);
      await act(app, organisation.organisation_id, 'listen', async () => ({ result: null, resource: null }));
      const from = await newestEvent(app.db, organisation.organisation_id);
      session.say(`Forwarding ${types.join(' and ')} of ${organisation.public_id} from now on; Ctrl-C ends.`);
      const events = followEvents(app.db, organisation.organisation_id, from?.number ?? 0, types, call.signal);
      for (let seen = 0; seen < asked.most; seen++) {
        const next = await events.next();
        if (next.done === true) break;
        const { event_id, type, payload } = next.value;
        session.note(type, await session.forwarder.forward(secret, uuidOf('listen', event_id), payload));
      }
      await events.return(undefined);
    }
    return session.output(secret, onlySamples);
  });
}

async function listenAtService(call: Call, session: Session, asked: Asked): Promise<Output> {
  const access = accessOption(call);
  const groups = groupsOption(call);
  const lines = listenByKey({
    access,
    query: {
      ...(asked.types === undefined ? {} : { event_types: asked.types }),
      ...(groups === undefined ? {} : { group_id: groups.split(',') }),
    },
    signal: call.signal,
    interrupted: (why, againInMs) =>
      session.say(`Interrupted: ${why}; connecting again in ${(againInMs / 1000).toFixed(1)} s.`),
  });
  let secret = asked.secret ?? '';
  let isOpen = false;
  let seen = 0;
  for await (const one of lines) {
    if (one.type === 'open') {
      const told = asked.secret ?? one.secret;
      if (!isOpen) await session.begin(told, asked.samples, new URL(access.baseUrl).origin);
      else if (told !== secret) session.say(`Signing secret: ${told}`);
      secret = told;
      session.say(isOpen ? 'Connected again.' : `Forwarding events of ${access.baseUrl} from now on; Ctrl-C ends.`);
      isOpen = true;
    }
    if (one.type !== 'delivery') continue;
    const { delivery_id: id, headers, body } = one;
    // As the service signed it, or once more with the developer's own secret.
    const forwarded =
      asked.secret === undefined
        ? session.forwarder.pass(id, headers, body)
        : session.forwarder.forward(asked.secret, id, body);
    session.note(one.event, await forwarded);
    seen += 1;
    if (seen >= asked.most) break;
  }
  return session.output(secret, false);
}

export const commands: Command[] = [
  {
    name: 'listen',
    usage:
      '--forward-to URL [--api URL [--groups ID,…] | --organisation ID] [--events TYPE,…] [--trigger TYPE,…] [--check] [--secret whsec_…] [--count N]',
    summary:
      "Forward an organisation's events, signed, to an address on this machine, and say how each was answered; --api: of any service, by an access key",
    options: {
      'forward-to': { type: 'string' },
      api: { type: 'string' },
      'access-key-id': { type: 'string' },
      groups: { type: 'string' },
      organisation: { type: 'string' },
      events: { type: 'string' },
      trigger: { type: 'string' },
      check: { type: 'boolean' },
      secret: { type: 'string' },
      count: { type: 'string' },
    },
    run: async (call) => {
      const url = addressOption(call);
      const byKey = option(call, 'api') !== undefined;
      if (byKey && option(call, 'organisation') !== undefined)
        throw new Misuse('--organisation has no place beside --api: the key says which organisation it is');
      if (!byKey && (option(call, 'groups') ?? option(call, 'access-key-id')) !== undefined)
        throw new Misuse('--groups and --access-key-id go with --api');
      const asked: Asked = {
        types: typesOption(call, 'events'),
        samples: typesOption(call, 'trigger') ?? [],
        secret: option(call, 'secret'),
        most: numberOption(call, 'count', Number.MAX_SAFE_INTEGER, 1, 1_000_000_000),
      };
      if (asked.secret !== undefined && !/^whsec_[\w-]{16,200}$/.test(asked.secret))
        throw new Misuse('--secret must be whsec_ and at least 16 letters, digits, - or _');
      const session = new Session(call, url);
      try {
        return await (byKey ? listenAtService : listenInDatabase)(call, session, asked);
      } finally {
        await session.forwarder.close();
      }
    },
  },
];
