import { createKey, listKeys, revokeKey } from '../src/keys/keys.ts';
import { limits } from '../src/limits.ts';
import type { Command } from './command.ts';
import { Misuse } from './command.ts';
import { act, missing, organisationOf, requiredOption, table, textOption, timeOption, withApp } from './open.ts';

export const commands: Command[] = [
  {
    name: 'key create',
    usage: '--organisation ID [--label L] [--expires DATE-TIME] [--test]',
    summary: 'Create a key pair; its secret is shown this once',
    options: {
      organisation: { type: 'string' },
      label: { type: 'string' },
      expires: { type: 'string' },
      test: { type: 'boolean' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const label = textOption(call, 'label', limits.keyLabelChars) ?? null;
      const expiresUs = timeOption(call, 'expires');
      const expiresAt = expiresUs === null ? null : new Date(expiresUs / 1000);
      return withApp(async (app) => {
        if (expiresUs !== null && expiresUs <= app.clock.nowMs() * 1000)
          throw new Misuse('--expires must lie in the future');
        const found = await organisationOf(app, id);
        const pair = await act(app, found.organisation_id, 'key create', async (work) => {
          const made = await createKey(work, found.organisation_id, {
            label,
            kind: call.options.test === true ? 'test' : 'live',
            expiresAt,
          });
          return { result: made, resource: made.access_key_id };
        });
        return {
          json: pair,
          text: `${table([
            ['access_key_id', pair.access_key_id],
            ['secret_access_key', pair.secret_access_key],
          ])}\n\nThe secret is not shown again.`,
        };
      });
    },
  },
  {
    name: 'key list',
    usage: '--organisation ID',
    summary: "List an organisation's keys",
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const rows = (await listKeys(app.db, found.organisation_id)).map((row) => ({
          access_key_id: row.key_id,
          label: row.label,
          status:
            row.revoked_at !== null
              ? 'revoked'
              : row.expires_at !== null && row.expires_at.getTime() <= app.clock.nowMs()
                ? 'expired'
                : 'active',
          created_at: row.created_at.toISOString(),
          expires_at: row.expires_at?.toISOString() ?? null,
          revoked_at: row.revoked_at?.toISOString() ?? null,
        }));
        return {
          json: { data: rows },
          text: table([
            ['access_key_id', 'status', 'created_at', 'label'],
            ...rows.map((row) => [row.access_key_id, row.status, row.created_at, row.label ?? '']),
          ]),
        };
      }),
  },
  {
    name: 'key revoke',
    usage: '--organisation ID KEY_ID',
    summary: 'Revoke a key, from the next request on',
    options: { organisation: { type: 'string' } },
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const keyId = call.positionals[0]!;
        await act(app, found.organisation_id, 'key revoke', async (work) => {
          if (!(await revokeKey(work, found.organisation_id, keyId)))
            throw missing('key', keyId, { hint: '; ars key list shows them' });
          return { result: null, resource: keyId };
        });
        return { json: { access_key_id: keyId, status: 'revoked' }, text: `${keyId} is revoked.` };
      }),
  },
];
