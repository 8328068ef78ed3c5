import { emptiedWords } from '../src/events/cancel.ts';
import type { App } from '../src/app.ts';
import { formatMs } from '../src/clock.ts';
import type { Work } from '../src/db/work.ts';
import { inWork, rowsLane } from '../src/db/work.ts';
import { parseInstant } from '../src/feed/time.ts';
import type { ListedDelivery } from '../src/webhooks/browse.ts';
import { listDeliveries } from '../src/webhooks/browse.ts';
import type { DeliveryStatus } from '../src/webhooks/deliveries.ts';
import { deliveryStatuses, redeliverOne, replayStep } from '../src/webhooks/deliveries.ts';
import { endpointWarning } from '../src/webhooks/health.ts';
import { pauseEndpoint, resumeEndpoint, rotateSecret, rotationMs, SecretsHeldError } from '../src/webhooks/manage.ts';
import { sendTest } from '../src/webhooks/test-event.ts';
import type { EndpointRow } from '../src/webhooks/webhooks.ts';
import { countUndelivered, endpointPayload, findEndpoint, listEndpoints } from '../src/webhooks/webhooks.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, missing, numberOption, option, organisationOf, requiredOption, table, withApp } from './open.ts';
import { isUuid } from '../src/uuid.ts';

const organisation = { organisation: { type: 'string' } } as const;
const noEndpoint = (id: string) => missing('endpoint', id, { hint: '; ars webhooks list shows them' });

function payload(app: App, row: EndpointRow) {
  const nowMs = app.clock.nowMs();
  const { created_at, updated_at, ...shown } = endpointPayload(row);
  return {
    ...shown,
    failing_since: row.failing_since?.toISOString() ?? null,
    warning: row.status === 'disabled' ? null : endpointWarning(row, nowMs),
    previous_secret_until:
      row.previous_secret_until !== null && row.previous_secret_until.getTime() > nowMs
        ? row.previous_secret_until.toISOString()
        : null,
    created_at,
    updated_at,
  };
}

/** Runs an act on one endpoint of the organisation that the call names. */
async function onEndpoint<T>(
  call: Call,
  action: string,
  inside: (work: Work, organisationId: number, endpointId: string) => Promise<T>,
  goOn = async (_app: App, _organisationId: number, _endpointId: string, result: T): Promise<T> => result,
): Promise<{ app: App; result: T }> {
  const id = requiredOption(call, 'organisation');
  const endpointId = call.positionals[0]!.toLowerCase();
  if (!isUuid(endpointId)) throw noEndpoint(endpointId);
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, id);
    if ((await findEndpoint(app.db, organisationId, endpointId)) === undefined) throw noEndpoint(endpointId);
    const result = await act(app, organisationId, action, async (work) => ({
      result: await inside(work, organisationId, endpointId),
      resource: endpointId,
    }));
    return { app, result: await goOn(app, organisationId, endpointId, result) };
  });
}

const list: Command = {
  name: 'webhooks list',
  usage: '--organisation ID',
  summary: "List an organisation's webhook endpoints, how they fare and what waits for them",
  options: organisation,
  run: (call) =>
    withApp(async (app) => {
      const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
      const undelivered = await countUndelivered(app.db, organisationId);
      const rows = (await listEndpoints(app.db, organisationId)).map((row) => {
        const { pending = 0, dead = 0 } = undelivered.get(row.endpoint_id) ?? {};
        return { ...payload(app, row), waiting: pending, dead };
      });
      return {
        json: { data: rows },
        text: [
          table([
            ['id', 'status', 'waiting', 'dead', 'url'],
            ...rows.map((row) => [row.id, row.status, String(row.waiting), String(row.dead), row.url]),
          ]),
          ...rows
            .filter((row) => (row.disabled_reason ?? row.warning) !== null)
            .map((row) => `${row.id}: ${row.disabled_reason ?? row.warning}`),
        ].join('\n'),
      };
    }),
};

const test: Command = {
  name: 'webhooks test',
  usage: '--organisation ID ENDPOINT_ID',
  summary: 'Send an endpoint a signed test event, once, and say how it answered',
  options: organisation,
  positionals: [1, 1],
  run: (call) =>
    withApp(async (app) => {
      const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
      const endpointId = call.positionals[0]!.toLowerCase();
      const endpoint = isUuid(endpointId) ? await findEndpoint(app.db, organisationId, endpointId) : undefined;
      if (endpoint === undefined) throw noEndpoint(endpointId);
      await act(app, organisationId, 'webhooks test', async () => ({ result: null, resource: endpointId }));
      const made = await sendTest(app, endpoint, call.signal);
      const succeeded = made.outcome === 'succeeded';
      const { outcome, status_code, duration_ms, error } = made;
      return {
        json: {
          delivery_id: made.deliveryId,
          event: 'webhook.test',
          succeeded,
          outcome,
          status_code,
          duration_ms,
          error,
        },
        text: succeeded
          ? `The endpoint answered ${status_code} in ${duration_ms} ms.`
          : `${error} (${outcome}, ${duration_ms} ms)`,
        exitCode: succeeded ? 0 : 1,
      };
    }),
};

/** A command that does one thing to an endpoint. */
function endpointCommand<T>(given: {
  verb: string;
  summary: string;
  act(work: Work, organisationId: number, endpointId: string): Promise<T>;
  tell(result: T, app: App): { json: object; text: string };
}): Command {
  const name = `webhooks ${given.verb}`;
  return {
    name,
    usage: '--organisation ID ENDPOINT_ID',
    summary: given.summary,
    options: organisation,
    positionals: [1, 1],
    run: async (call) => {
      const { app, result } = await onEndpoint(call, name, given.act);
      return given.tell(result, app);
    },
  };
}

const pause = endpointCommand({
  verb: 'pause',
  summary: "Hold an endpoint's deliveries back; they wait",
  async act(work, organisationId, endpointId) {
    const row = await pauseEndpoint(work, organisationId, endpointId);
    if (row === undefined)
      throw new Failure('the endpoint is disabled, so its deliveries wait already; ars webhooks resume lets them go');
    return row;
  },
  tell: (row, app) => ({ json: payload(app, row), text: `${row.endpoint_id} is paused; its deliveries wait.` }),
});

const resume = endpointCommand({
  verb: 'resume',
  summary: "Let a paused or disabled endpoint's waiting deliveries go",
  act: async (work, organisationId, endpointId) => (await resumeEndpoint(work, organisationId, endpointId))!,
  tell: (row, app) => ({
    json: payload(app, row),
    text: `${row.endpoint_id} is active; what waited is being sent. Dead letters are sent again with ars webhooks replay.`,
  }),
});

const rotate = endpointCommand({
  verb: 'rotate-secret',
  summary: 'Make a new signing secret, shown this once; each one before signs too until its 24 hours are over',
  async act(work, organisationId, endpointId) {
    try {
      return (await rotateSecret(work, organisationId, endpointId))!;
    } catch (error) {
      throw error instanceof SecretsHeldError ? new Failure(error.message) : error;
    }
  },
  tell: ({ row, secret }, app) => ({
    json: { ...payload(app, row), secret },
    text: `${table([
      ['secret', secret],
      ['old one until', row.previous_secret_until!.toISOString()],
    ])}\n\nThe secret is not shown again. Both sign for ${rotationMs / 3600_000} hours, and earlier ones until theirs are over.`,
  }),
});

function deliveryText(rows: ListedDelivery[]): string {
  return table([
    ['id', 'event', 'status', 'attempts', 'last attempt', 'result', 'next attempt'],
    ...rows.map((row) => {
      const last = row.attempts.at(-1);
      return [
        row.id,
        row.event,
        row.status,
        String(row.attempts.length),
        last?.at ?? '-',
        row.cancelled_because ?? (last === undefined ? '-' : (last.error ?? String(last.status_code))),
        row.next_attempt_at ?? '-',
      ];
    }),
  ]);
}

const mostListed = 10_000;

const deliveries: Command = {
  name: 'webhooks deliveries',
  usage: '--organisation ID [--endpoint ID] [--status pending|succeeded|dead|cancelled] [--limit N]',
  summary: 'List deliveries, newest first, with every attempt',
  options: { ...organisation, endpoint: { type: 'string' }, status: { type: 'string' }, limit: { type: 'string' } },
  run: (call) => {
    const status = option(call, 'status');
    if (status !== undefined && !(deliveryStatuses as readonly string[]).includes(status))
      throw new Misuse(`--status must be one of ${deliveryStatuses.join(', ')}`);
    const limit = numberOption(call, 'limit', call.json ? mostListed : 50, 1, mostListed);
    return withApp(async (app) => {
      const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
      const endpointId = option(call, 'endpoint')?.toLowerCase() ?? null;
      if (
        endpointId !== null &&
        (!isUuid(endpointId) || (await findEndpoint(app.db, organisationId, endpointId)) === undefined)
      )
        throw noEndpoint(endpointId);
      const rows = await listDeliveries(app.db, organisationId, {
        endpointId,
        status: (status ?? null) as DeliveryStatus | null,
        limit,
      });
      return { json: { data: rows }, text: deliveryText(rows) };
    });
  },
};

const redeliver: Command = {
  name: 'webhooks redeliver',
  usage: '--organisation ID DELIVERY_ID',
  summary: 'Send one delivery again, whatever became of it; it keeps its id',
  options: organisation,
  positionals: [1, 1],
  run: (call) =>
    withApp(async (app) => {
      const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
      const deliveryId = call.positionals[0]!.toLowerCase();
      await act(app, organisationId, 'webhooks redeliver', async (work) => {
        const refused = isUuid(deliveryId) ? await redeliverOne(work, organisationId, deliveryId) : 'unknown';
        if (refused === 'unknown')
          throw missing('delivery', deliveryId, { hint: '; ars webhooks deliveries shows them' });
        if (refused !== null) throw new Failure(`nothing is sent: ${emptiedWords[refused]}, and its content is gone`);
        return { result: null, resource: deliveryId };
      });
      return { json: { id: deliveryId, status: 'pending' }, text: `${deliveryId} is being sent again.` };
    }),
};

function instantOption(call: Call, name: string): Date {
  const us = parseInstant(requiredOption(call, name));
  if (us === null) throw new Misuse(`--${name} must be a date-time with a zone, such as 2026-01-31T09:00:00Z`);
  return new Date(us / 1000);
}

const replay: Command = {
  name: 'webhooks replay',
  usage: '--organisation ID ENDPOINT_ID --from T --to T',
  summary: 'Send an endpoint again every event from one time to another, the second excluded',
  options: { ...organisation, from: { type: 'string' }, to: { type: 'string' } },
  positionals: [1, 1],
  run: async (call) => {
    const [from, to] = [instantOption(call, 'from'), instantOption(call, 'to')];
    if (from >= to) throw new Misuse('--from must be before --to');
    const { result } = await onEndpoint(
      call,
      'webhooks replay',
      (work, organisationId, endpointId) => replayStep(work, organisationId, endpointId, { from, to }),
      async (app, organisationId, endpointId, first) => {
        let { count, next } = first;
        while (next !== null) {
          const at = next;
          if (call.signal.aborted)
            throw new Failure(`Stopped after ${count} deliveries; go on with --from ${formatMs(at.getTime())}.`);
          call.progress(`${count} deliveries, up to ${formatMs(at.getTime())}`);
          const step = await inWork(app, rowsLane(organisationId), (work) =>
            replayStep(work, organisationId, endpointId, { from: at, to }),
          );
          count += step.count;
          next = step.next;
        }
        return { count, next };
      },
    );
    const { count } = result;
    return {
      json: { endpoint_id: call.positionals[0]!.toLowerCase(), replayed: count },
      text: `${count} ${count === 1 ? 'delivery is' : 'deliveries are'} being sent again.`,
    };
  },
};

export const commands: Command[] = [list, test, pause, resume, rotate, deliveries, redeliver, replay];
