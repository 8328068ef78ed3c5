import { ApiError, ArsError, Client, UnexpectedReplyError } from '../../../client/src/index.ts';
import type { App } from '../../../src/platform/app.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { followEvents, newestEvent } from '../../../src/feed/events/follow.ts';
import { listOrganisations } from '../../../src/organisations/organisations.ts';
import { systemRandom, uuidOf, isUuid } from '../../../src/platform/crypto/random.ts';
import type { Forwarded, Forwarder } from '../../../src/sandbox/conformance/forward.ts';
import { createForwarder, parseForwardTo } from '../../../src/sandbox/conformance/forward.ts';
import { sampleEvent } from '../../../src/sandbox/conformance/samples.ts';
import { newSecret } from '../../../src/integrations/webhooks/http/signing.ts';
import { accessOf } from '../../kit/access.ts';
import { type Call, type Command, type Output, type Values, command, Failure, Misuse } from '../../kit/command.ts';
import { note, organisationOf, withApp } from '../../kit/open.ts';
import { checked, count, flag, or, parsed, required, text, words } from '../../kit/options.ts';
import { terminal } from '../../kit/terminal.ts';
import { type EventType, eventTypes, learnerGroupsUpdated } from '../../../src/platform/validation/event-types.ts';

export const forwardTo = parsed('URL', '', parseForwardTo);

const types = words('TYPE,…', eventTypes, `one or more of ${eventTypes.join(', ')}, with commas between`);

const declared = {
  forwardTo: required(forwardTo),
  api: text('URL'),
  accessKeyId: text('ID'),
  groups: parsed('ID,…', 'IDs of groups, with commas between', (input) =>
    input.split(',').every((id) => isUuid(id.toLowerCase())) ? input.split(',') : undefined,
  ),
  organisation: text('ID'),
  events: types,
  trigger: or(types, []),
  check: flag,
  secret: checked('whsec_…', 'whsec_ and at least 16 letters, digits, - or _', (input) =>
    /^whsec_[\w-]{16,200}$/.test(input),
  ),
  count: or(count(1, 1_000_000_000), Number.MAX_SAFE_INTEGER),
};
type Listening = Call<Values<typeof declared>>;

/** Finds the organisation of `--organisation`. Without the option, exactly one organisation must exist. */
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

const maxListed = 1000;

class Session {
  readonly forwarder: Forwarder;
  readonly tally = { forwarded: 0, failed: 0 };
  readonly #call: Listening;
  readonly #results: Result[] = [];
  #checks: Awaited<ReturnType<Forwarder['probe']>> | null = null;

  constructor(call: Listening) {
    this.#call = call;
    this.forwarder = createForwarder(call.options.forwardTo, systemClock, call.signal);
  }

  // With --json, standard output contains only the value that the command prints at the end.
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
    if (this.#results.length < maxListed) this.#results.push(result);
    this.say(line(result));
  }

  /** Sends the deliveries of --check, which a receiver must refuse, and the sample events of --trigger. */
  async begin(secret: string, baseUrl: string): Promise<void> {
    this.say(`Signing secret: ${secret}`);
    const sampleOf = (type: EventType) =>
      sampleEvent(type, { nowMs: systemClock.nowMs(), random: systemRandom, baseUrl });
    if (this.#call.options.check) {
      this.#checks = await this.forwarder.probe(secret, sampleOf(learnerGroupsUpdated), () => systemRandom.uuid());
      for (const check of this.#checks)
        this.say(
          `${check.refused ? 'refused, as it must be' : 'NOT REFUSED'}: ${check.probe} (${check.statusCode ?? check.error})`,
        );
    }
    for (const type of this.#call.options.trigger)
      this.note(type, await this.forwarder.forward(secret, systemRandom.uuid(), sampleOf(type)));
  }

  /** @param onlySamples the command sends only samples, so it fails if one of them fails */
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

async function listenInDatabase({ options, signal }: Listening, session: Session): Promise<Output> {
  return withApp(async (app) => {
    const secret = options.secret ?? newSecret(app.random);
    const wanted = options.events ?? [...eventTypes];
    await session.begin(secret, app.settings.baseUrl);
    // Samples and checks need no organisation. If they are requested without --organisation, the command forwards no
    // events.
    const onlySamples = options.organisation === undefined && (options.trigger.length > 0 || options.check);
    if (!onlySamples) {
      const { organisation_id: id, public_id } = await organisationToFollow(app, options.organisation);
      await note(app, id, 'listen', null);
      const from = await newestEvent(app.db, id);
      session.say(`Forwarding ${wanted.join(' and ')} of ${public_id} from now on; Ctrl-C ends.`);
      const events = followEvents(app.db, id, from?.number ?? 0, wanted, signal);
      for (let forwarded = 0; forwarded < options.count; forwarded++) {
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

/** The service's error message, or the reason why the connection failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ArsError)) return String(error);
  const cause = error.cause as { message?: string; cause?: { code?: string } } | undefined;
  const said = error instanceof ApiError ? error.message : (cause?.cause?.code ?? cause?.message ?? error.message);
  return said.replace(/^listenToEvents: /, '').replace(/\.$/, '');
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof ArsError)) return error;
  const status = error instanceof ApiError ? error.status : null;
  if (status === 401) return new Failure('The service refuses the access key.');
  if (status === 404)
    return new Failure('This service has no events to listen to by a key: it is older, or --api names another place.');
  if (error instanceof UnexpectedReplyError) return new Failure('What answers at --api sends no lines of events.');
  if (error.isTransient || status === 409) return new Failure(`Listening can't begin: ${reasonOf(error)}.`);
  return new Failure(`The service refuses: ${reasonOf(error)}`);
}

async function listenAtService({ options, signal }: Listening, session: Session): Promise<Output> {
  const { accessKeyId, api = '' } = options;
  const access = accessOf({ api, accessKeyId });
  const query = {
    ...(options.events === undefined ? {} : { event_types: options.events }),
    ...(options.groups === undefined ? {} : { group_id: options.groups }),
  };
  const onInterrupted = (error: unknown, againInMs: number) =>
    session.say(`Interrupted: ${reasonOf(error)}; connecting again in ${(againInMs / 1000).toFixed(1)} s.`);
  let secret = options.secret ?? '';
  let isOpen = false;
  let forwarded = 0;
  try {
    for await (const one of new Client(access).events.listen(query, { signal, onInterrupted })) {
      if (one.type === 'end' && one.reason === 'key_gone')
        throw new Failure('The key was revoked, or its time is over.');
      if (one.type === 'open') {
        const next = options.secret ?? one.secret!;
        if (!isOpen) await session.begin(next, new URL(access.baseUrl).origin);
        else if (next !== secret) session.say(`Signing secret: ${next}`);
        secret = next;
        session.say(isOpen ? 'Connected again.' : `Forwarding events of ${access.baseUrl} from now on; Ctrl-C ends.`);
        isOpen = true;
      }
      if (one.type !== 'delivery') continue;
      const { event, delivery_id: id, headers, body } = one as Required<typeof one>;
      // The delivery keeps the service's signature unless the developer has set another secret.
      const sent =
        options.secret === undefined
          ? session.forwarder.post(id, headers, body)
          : session.forwarder.forward(options.secret, id, body);
      session.note(event, await sent);
      forwarded += 1;
      if (forwarded >= options.count) break;
    }
  } catch (error) {
    throw failureOf(error);
  }
  return session.output(secret, false);
}

export const commands: Command[] = [
  command({
    name: 'listen',
    summary: "Forward an organisation's events to a local URL",
    notes: 'The events are signed. With --api, the command reads the events of any service with an access key.',
    examples: [
      '--forward-to http://127.0.0.1:3000/hooks --organisation $ORG',
      '--api $API --forward-to http://127.0.0.1:3000/hooks --check',
    ],
    fails: 'A delivery has failed, or --check has found a fault.',
    about: {
      forwardTo: 'The URL that receives the events',
      api: 'The base URL of the API',
      accessKeyId: 'The ID of the access key (default: ACCESS_KEY_ID)',
      groups: 'Only events of these groups',
      organisation: "The organisation's ID, without --api",
      events: 'Only events of these types',
      trigger: 'Sends a sample of these events first',
      check: 'Sends deliveries that a receiver must refuse, and checks that it does',
      secret:
        'The signing secret, which the command prints (default: with --api, that of your key; otherwise a new one)',
      count: 'Ends after this number of events',
    },
    options: declared,
    run: async (call) => {
      const { api, organisation, groups, accessKeyId } = call.options;
      if (api !== undefined && organisation !== undefined)
        throw new Misuse('give either --organisation or --api: with --api, the access key names the organisation');
      if (api === undefined && (groups ?? accessKeyId) !== undefined)
        throw new Misuse('--groups and --access-key-id go with --api');
      const session = new Session(call);
      try {
        return await (api === undefined ? listenInDatabase : listenAtService)(call, session);
      } finally {
        await session.forwarder.close();
      }
    },
  }),
];
