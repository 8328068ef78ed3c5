import { credits, endpointStates } from '../../../src/server/status/page.ts';
import { type OrganisationStatus, counted, duration, readStatus } from '../../../src/server/status/status.ts';
import { type Command, type Output, command } from '../../kit/command.ts';
import { organisationOf, withApp } from '../../kit/open.ts';
import { linesOf, tableOf } from '../../kit/table.ts';

const ago = (ms: number | null, nowMs: number) => (ms === null ? '-' : duration(nowMs - ms));

function overview(organisations: OrganisationStatus[], nowMs: number): string {
  const needing = organisations.filter(({ attention }) => attention.length > 0);
  const marks = { bad: '✗', wait: '!' };
  return linesOf(
    `${needing.length} of ${organisations.length} organisations need attention.`,
    ...needing.flatMap((one) => [
      '',
      `${one.name} (${one.organisation_id})${one.is_sandbox ? ' (sandbox)' : ''}`,
      ...one.attention.map(({ level, text }) => `  ${marks[level]} ${text}`),
    ]),
    '',
    tableOf(needing, [
      'organisation_id',
      ['attention', ({ attention }) => attention.length],
      ['last request', (one) => ago(one.last_request_ms, nowMs)],
      ['endpoints', endpointStates],
      ['dead letters', (one) => counted(one.dead_letters)],
      ['oldest pending', (one) => ago(one.oldest_pending_ms, nowMs)],
      ['4xx', 'refused'],
      ['5xx', 'failed'],
      ['credits', credits],
      'name',
    ]),
  );
}

function detail(one: OrganisationStatus, nowMs: number): string {
  return linesOf(
    `${one.name} (${one.organisation_id})`,
    ...one.attention.map(({ text }) => `  ${text}`),
    `Credits: ${credits(one)}. Errors in this hour and the hour before: ${one.refused} with 4xx, ${one.failed} with 5xx.`,
    '',
    tableOf(one.keys, [
      'key_id',
      ['last request', (key) => ago(key.last_request_ms, nowMs)],
      ['usual pause', (key) => (key.usual_ms === null ? '-' : duration(key.usual_ms))],
      ['silent', (key) => (key.is_silent ? 'yes' : 'no')],
      ['ends', (key) => (key.expires_ms === null ? '-' : new Date(key.expires_ms))],
    ]),
    '',
    tableOf(one.endpoints, [
      'endpoint_id',
      'host',
      'status',
      ['failing for', (endpoint) => ago(endpoint.failing_since_ms, nowMs)],
      ['dead letters', (endpoint) => counted(endpoint.dead_letters)],
      ['pending', (endpoint) => counted(endpoint.pending)],
      ['oldest pending', (endpoint) => ago(endpoint.oldest_pending_ms, nowMs)],
    ]),
  );
}

export const commands: Command[] = [
  command({
    name: 'status',
    summary: 'Show which organisations need attention',
    takes: '[ID]',
    notes:
      'The table lists organisations that need attention; --json lists all. With ID, the command shows the keys and webhook endpoints of this organisation.',
    examples: ['', '$ORG --json'],
    run: ({ positionals: [id] }): Promise<Output> =>
      withApp(async (app) => {
        const organisationId = id === undefined ? null : (await organisationOf(app, id)).organisation_id;
        const nowMs = app.clock.nowMs();
        const status = await readStatus(app.db, { nowMs, silentAfter: app.settings.silentAfter, organisationId });
        const { organisations } = status;
        return id === undefined
          ? { json: status, text: overview(organisations, nowMs) }
          : { json: organisations[0], text: detail(organisations[0]!, nowMs) };
      }),
  }),
];
