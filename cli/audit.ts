import { readAudit } from '../src/audit/audit.ts';
import type { Call, Command } from './command.ts';
import { Misuse } from './command.ts';
import { option, organisationOf, requiredOption, withApp } from './open.ts';

function time(call: Call, name: string): Date | null {
  const text = option(call, name);
  if (text === undefined) return null;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new Misuse(`--${name} must be a date-time such as 2026-01-31T09:00:00Z`);
  return date;
}

export const commands: Command[] = [{
  name: 'audit export', usage: '--organisation ID [--from T] [--to T]', summary: 'Write the audit log as JSON lines',
  options: { organisation: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' } },
  run: (call) => withApp(async (app) => {
    const found = await organisationOf(app, requiredOption(call, 'organisation'));
    let count = 0;
    for await (const row of readAudit(app, found.organisation_id, time(call, 'from'), time(call, 'to'))) {
      const line = JSON.stringify({ id: row.audit_id, at: row.at.toISOString(), request_id: row.request_id, actor: row.actor, action: row.action, resource: row.resource, status: row.status });
      if (!process.stdout.write(`${line}\n`)) await new Promise((resolve) => process.stdout.once('drain', resolve));
      count++;
    }
    return { json: { exported: count }, text: '' };
  }),
}];
