import { once } from 'node:events';
import { readAudit } from '../src/audit/audit.ts';
import type { Call, Command } from './command.ts';
import { Failure } from './command.ts';
import { organisationOf, requiredOption, timeOption, withApp } from './open.ts';

function time(call: Call, name: string): Date | null {
  const us = timeOption(call, name);
  return us === null ? null : new Date(us / 1000);
}

export const commands: Command[] = [
  {
    name: 'audit export',
    usage: '--organisation ID [--from T] [--to T]',
    summary: 'Write the audit log as JSON lines',
    options: { organisation: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' } },
    run: async (call) => {
      const [id, from, to] = [requiredOption(call, 'organisation'), time(call, 'from'), time(call, 'to')];
      return withApp(async (app) => {
        const found = await organisationOf(app, id);
        let count = 0;
        for await (const row of readAudit(app, found.organisation_id, from, to)) {
          const line = JSON.stringify({
            id: row.audit_id,
            at: row.at.toISOString(),
            request_id: row.request_id,
            actor: row.actor,
            action: row.action,
            resource: row.resource,
            status: row.status,
          });
          if (call.signal.aborted) throw new Failure('stopped before the end of the log');
          if (!process.stdout.write(`${line}\n`) && process.stdout.writable) await once(process.stdout, 'drain');
          if (!process.stdout.writable) throw new Failure('the output cannot be written');
          count++;
        }
        return { json: { exported: count }, text: '' };
      });
    },
  },
];
