import { emptiedWords } from '../../../src/feed/events/cancel.ts';
import type { App } from '../../../src/platform/app.ts';
import { formatMs } from '../../../src/platform/time/clock.ts';
import { withUnitOfWork, rowsQueue } from '../../../src/platform/db/unit-of-work.ts';
import { parseInstant } from '../../../src/feed/time.ts';
import { type ListedDelivery, listDeliveries, deliveryStatuses } from '../../../src/integrations/webhooks/browse.ts';
import { redeliverOne, replayStep } from '../../../src/integrations/webhooks/resend.ts';
import { endpointWarning } from '../../../src/integrations/webhooks/endpoints/health.ts';
import {
  pauseEndpoint,
  resumeEndpoint,
  rotateSecret,
  rotationMs,
  countUndelivered,
  endpointPayload,
  findEndpoint,
  listEndpoints,
} from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { sendTest } from '../../../src/integrations/webhooks/attempt.ts';
import type { EndpointRow } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import type { Call, Command, Declaration, Options, Output, Values } from '../../kit/command.ts';
import { Failure, Misuse } from '../../kit/command.ts';
import { type Inside, foundById, missing, organisationCommand } from '../../kit/open.ts';
import { count, or, parsed, required, text, word } from '../../kit/options.ts';
import { listOf, table, tableOf } from '../../kit/table.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';

function payload(app: App, row: EndpointRow) {
  const nowMs = app.clock.nowMs();
  const { created_at, updated_at, ...shown } = endpointPayload(row);
  const until = row.previous_secret_until;
  return {
    ...shown,
    failing_since: row.failing_since,
    warning: row.status === 'disabled' ? null : endpointWarning(row, nowMs),
    previous_secret_until: until !== null && until.getTime() > nowMs ? until : null,
    created_at,
    updated_at,
  };
}

const endpointOf = ({ app, organisationId }: Inside, endpointId: string): Promise<EndpointRow> =>
  foundById('endpoint', endpointId, (id) => findEndpoint(app.db, organisationId, id), {
    hint: '; ars webhooks list shows them',
  });

function endpointCommand<O extends Options>(
  texts: Omit<Declaration<O>, 'takes' | 'options' | 'run'>,
  options: O,
  run: (call: Call<Values<O>> & Inside, endpoint: EndpointRow, id: string) => Promise<Output>,
): Command {
  return organisationCommand({
    ...texts,
    takes: 'ENDPOINT_ID',
    options,
    async run(call) {
      const endpoint = await endpointOf(call, call.positionals[0]!);
      return run(call, endpoint, endpoint.endpoint_id);
    },
  });
}

const maxListed = 10_000;

function resultOf({ cancelled_because, attempts }: ListedDelivery): string | number | null {
  const last = attempts.at(-1);
  return cancelled_because ?? (last === undefined ? '-' : (last.error ?? last.status_code));
}

const instant = required(
  parsed('T', 'a date-time with a zone, such as 2026-01-31T09:00:00Z', (input) => {
    const us = parseInstant(input);
    return us === null ? undefined : new Date(us / 1000);
  }),
);

export const commands: Command[] = [
  organisationCommand({
    name: 'webhooks list',
    summary: 'List webhook endpoints with their state',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: async ({ app, organisationId }) => {
      const undelivered = await countUndelivered(app.db, organisationId);
      const data = (await listEndpoints(app.db, organisationId)).map((row) => {
        const { pending = 0, dead = 0 } = undelivered.get(row.endpoint_id) ?? {};
        return { ...payload(app, row), waiting: pending, dead };
      });
      const said = data.flatMap(({ id, disabled_reason, warning }) => {
        const why = disabled_reason ?? warning;
        return why === null ? [] : [`${id}: ${why}`];
      });
      return {
        json: { data },
        text: [tableOf(data, ['id', 'status', 'waiting', 'dead', 'url']), ...said].join('\n'),
      };
    },
  }),
  endpointCommand(
    {
      name: 'webhooks test',
      summary: 'Send an endpoint a signed test event',
      examples: ['--organisation $ORG ENDPOINT_ID', '--organisation $ORG ENDPOINT_ID --json'],
      fails: 'The endpoint has refused the event, or the command has failed.',
    },
    {},
    async ({ app, note, signal }, endpoint, id) => {
      await note(id);
      const sent = await sendTest(app, endpoint, { signal });
      const { deliveryId: delivery_id, outcome, status_code, duration_ms, error } = sent;
      const succeeded = outcome === 'succeeded';
      return {
        json: { delivery_id, event: 'webhook.test', succeeded, outcome, status_code, duration_ms, error },
        text: succeeded
          ? `The endpoint answered ${status_code} in ${duration_ms} ms.`
          : `${error} (${outcome}, ${duration_ms} ms)`,
        exitCode: succeeded ? 0 : 1,
      };
    },
  ),
  endpointCommand(
    {
      name: 'webhooks pause',
      summary: 'Pause the deliveries of an endpoint',
      notes: 'Deliveries wait until the command webhooks resume.',
      examples: ['--organisation $ORG ENDPOINT_ID', '--organisation $ORG ENDPOINT_ID --json'],
    },
    {},
    async ({ app, organisationId, act }, _, id) => {
      const row = await act(id, async (work) => {
        const paused = await pauseEndpoint(work, organisationId, id);
        if (paused === undefined)
          throw new Failure(
            'the endpoint is disabled, so its deliveries wait already; ars webhooks resume lets them go',
          );
        return paused;
      });
      return { json: payload(app, row), text: `${id} is paused; its deliveries wait.` };
    },
  ),
  endpointCommand(
    {
      name: 'webhooks resume',
      summary: 'Resume a paused or disabled endpoint',
      examples: ['--organisation $ORG ENDPOINT_ID', '--organisation $ORG ENDPOINT_ID --json'],
    },
    {},
    async ({ app, organisationId, act }, _, id) => {
      const row = (await act(id, (work) => resumeEndpoint(work, organisationId, id)))!;
      return {
        json: payload(app, row),
        text: `${id} is active; what waited is being sent. Dead letters are sent again with ars webhooks replay.`,
      };
    },
  ),
  endpointCommand(
    {
      name: 'webhooks rotate-secret',
      summary: 'Rotate the signing secret and print the new one',
      notes: 'Each earlier secret also signs for 24 hours.',
      examples: ['--organisation $ORG ENDPOINT_ID', '--organisation $ORG ENDPOINT_ID --json'],
    },
    {},
    async ({ app, organisationId, act }, _, id) => {
      const { row, secret } = (await act(id, (work) => rotateSecret(work, organisationId, id)))!;
      return {
        json: { ...payload(app, row), secret },
        text: `${table([
          ['secret', secret],
          ['old one until', row.previous_secret_until],
        ])}\n\nThe secret is not shown again. Both sign for ${rotationMs / 3600_000} hours, and earlier ones until theirs are over.`,
      };
    },
  ),
  organisationCommand({
    name: 'webhooks deliveries',
    summary: 'List deliveries with every attempt, newest first',
    examples: ['--organisation $ORG --status dead', '--organisation $ORG --endpoint ENDPOINT_ID --limit 20'],
    about: {
      endpoint: 'Only deliveries to this endpoint',
      status: 'Only deliveries in this state',
      limit: 'The most rows to print',
    },
    options: { endpoint: text('ID'), status: or(word(deliveryStatuses), null), limit: count(1, maxListed) },
    run: async (call) => {
      const { endpoint, status, limit = call.json ? maxListed : 50 } = call.options;
      const endpointId = endpoint === undefined ? null : (await endpointOf(call, endpoint)).endpoint_id;
      const rows = await listDeliveries(call.app.db, call.organisationId, { endpointId, status, limit });
      return listOf(rows, [
        'id',
        'event',
        'status',
        ['attempts', (row) => row.attempts.length],
        ['last attempt', (row) => row.attempts.at(-1)?.at ?? '-'],
        ['result', resultOf],
        ['next attempt', (row) => row.next_attempt_at ?? '-'],
      ]);
    },
  }),
  organisationCommand({
    name: 'webhooks redeliver',
    summary: 'Send one delivery again',
    notes: 'The delivery keeps its ID.',
    examples: ['--organisation $ORG DELIVERY_ID', '--organisation $ORG DELIVERY_ID --json'],
    takes: 'DELIVERY_ID',
    run: async ({ organisationId, act, positionals }) => {
      const id = positionals[0]!.toLowerCase();
      await act(id, async (work) => {
        const refused = isUuid(id) ? await redeliverOne(work, organisationId, id) : 'unknown';
        if (refused === 'unknown') throw missing('delivery', id, { hint: '; ars webhooks deliveries shows them' });
        if (refused !== null)
          throw new Failure(`nothing is sent: ${emptiedWords[refused]}, and its content is deleted`);
      });
      return { json: { id, status: 'pending' }, text: `${id} is being sent again.` };
    },
  }),
  endpointCommand(
    {
      name: 'webhooks replay',
      summary: 'Send events of a period to an endpoint again',
      examples: [
        '--organisation $ORG ENDPOINT_ID --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z',
        '--organisation $ORG ENDPOINT_ID --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z --json',
      ],
      about: { from: 'The start of the period', to: 'The end of the period, which is not included' },
    },
    { from: instant, to: instant },
    async ({ app, organisationId, act, options: { from, to }, ...call }, _, id) => {
      if (from >= to) throw new Misuse('--from must be before --to');
      let { count: replayed, next } = await act(id, (work) => replayStep(work, organisationId, id, { from, to }));
      while (next !== null) {
        const start: Date = next;
        const reached = formatMs(start.getTime());
        if (call.signal.aborted)
          throw new Failure(`Stopped after ${replayed} deliveries; go on with --from ${reached}.`);
        call.progress(`${replayed} deliveries, up to ${reached}`);
        const slice = await withUnitOfWork(app, rowsQueue(organisationId), (work) =>
          replayStep(work, organisationId, id, { from: start, to }),
        );
        replayed += slice.count;
        next = slice.next;
      }
      return {
        json: { endpoint_id: id, replayed },
        text: `${replayed} ${replayed === 1 ? 'delivery is' : 'deliveries are'} being sent again.`,
      };
    },
  ),
];
