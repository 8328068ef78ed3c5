import type { App } from '../src/app.ts';
import { storedTexts } from '../src/db/stored-text.ts';
import type { ByteReaders } from '../src/db/stored-text.ts';
import { holdsNationalInsuranceNumber } from '../src/personal-data.ts';
import type { Command } from './command.ts';
import { act, option, organisationOf, table, withApp } from './open.ts';

/** How every column of bytes is read; a new one has to say it here before the check runs again. */
export function byteReaders(app: App): ByteReaders {
  return {
    'access_key.secret_sha256': null,
    'audit.address': null,
    'refused_calls.address': null,
    'evidence.pdf': null,
    'idempotency.key_sha256': null,
    'idempotency.request_sha256': null,
    'idempotency.reply': (bytes) => app.secrets.open('idempotency', bytes),
  };
}

/** Where something was found; never what. */
export type Finding = { table: string; column: string; key: Record<string, string> };

/** True when a text, or any text within it where it is JSON, holds a National Insurance number. */
function isFinding(text: string): boolean {
  if (!holdsNationalInsuranceNumber(text)) return false;
  // What only the punctuation of JSON joins is none: each text within is looked at by itself.
  for (const json of [text, `{${text}}`]) {
    try {
      return leaves(JSON.parse(json)).some(holdsNationalInsuranceNumber);
    } catch {
      // Not JSON.
    }
  }
  return true;
}

function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...leaves(inner)]);
}

/** Every place in the database where a National Insurance number is stored. */
export async function findPersonalData(app: App, organisationId: number | null): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const { table: name, column, key, value } of storedTexts(app.db, organisationId, byteReaders(app))) {
    if (!isFinding(value)) continue;
    const shown = Object.entries(key).map(([part, id]) => [part, holdsNationalInsuranceNumber(id) ? '(hidden)' : id]);
    found.push({ table: name, column, key: Object.fromEntries(shown) as Record<string, string> });
  }
  return found;
}

export const commands: Command[] = [
  {
    name: 'check personal-data',
    usage: '[--organisation ID]',
    summary: 'Look through all stored text for National Insurance numbers, and list where they are',
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const id = option(call, 'organisation');
        const organisationId = id === undefined ? null : (await organisationOf(app, id)).organisation_id;
        const found = await findPersonalData(app, organisationId);
        await act(app, organisationId, 'check personal-data', () => Promise.resolve({ result: null, resource: null }));
        return {
          json: { found },
          text:
            found.length === 0
              ? 'No stored text holds anything shaped like a National Insurance number.'
              : table([
                  ['table', 'column', 'key'],
                  ...found.map((one) => [one.table, one.column, JSON.stringify(one.key)]),
                ]),
          exitCode: found.length === 0 ? 0 : 1,
        };
      }),
  },
];
